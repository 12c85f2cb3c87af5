import { Value } from "@stackwright/cty";
import {
  type Diagnostic,
  evaluateBody,
  hasErrors,
  type ModuleScope,
  type ResourceConfig,
} from "@stackwright/lang";
import type { BlockSchema } from "@stackwright/mux/router";
import { bindProvisioners } from "../provisioners/bind-provisioners.ts";
import { EVERYWHERE } from "../provisioners/planned-provisioner.ts";
import { blockType } from "../walk/block-type.ts";
import { anyInstance } from "./open-module.ts";

/** What is wrong with the provisioners of a resource, for all its instances at once. */
export function provisionerErrors(
  config: ResourceConfig,
  scope: ModuleScope,
  block: BlockSchema,
): readonly Diagnostic[] {
  const { provisioners, diagnostics } = bindProvisioners(config);
  if (hasErrors(diagnostics)) return diagnostics;
  const self = Value.unknown(blockType(block));
  const names = scope.forInstance({ ...anyInstance(config), self });
  return [
    ...diagnostics,
    ...provisioners.flatMap(({ body, connection }) => [
      ...evaluateBody(body, names, EVERYWHERE).diagnostics,
      ...(connection === undefined ? [] : evaluateBody(connection, names, EVERYWHERE).diagnostics),
    ]),
  ];
}
