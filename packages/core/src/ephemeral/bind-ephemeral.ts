import {
  type BoundBody,
  bindBody,
  type Diagnostic,
  hasErrors,
  RESOURCE_META,
  type ResourceConfig,
} from "@stackwright/lang";
import type { ResourceSchema } from "@stackwright/mux/router";
import { findType } from "../providers/find-type.ts";
import type { ProviderInstance } from "../providers/provider-instances.ts";

/** The body of an ephemeral resource as its schema understands it. */
export interface BoundEphemeral {
  readonly body: BoundBody;
  readonly schema: ResourceSchema;
}

/** Undefined after an error, which is reported. */
export function bindEphemeral(
  config: ResourceConfig,
  use: ProviderInstance,
  report: (diagnostics: readonly Diagnostic[]) => void,
): BoundEphemeral | undefined {
  const { schema, problem } = findType(use, config);
  if (problem !== undefined) {
    report([problem]);
    return undefined;
  }
  const { body, diagnostics } = bindBody(config.body, schema.block, { meta: RESOURCE_META });
  report(diagnostics);
  return hasErrors(diagnostics) ? undefined : { body, schema };
}
