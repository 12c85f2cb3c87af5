import type { Configuration } from "@stackwright/core";
import type { ProviderConstraint } from "@stackwright/proto/stackwright";
import { recordedConstraints } from "../domain/recorded-constraints.ts";
import type { ExecutionResult } from "./execution-job.ts";

/**
 * Which versions of its providers a configuration allows with all of its modules, wherever they were fetched from. Private providers have none:
 * theirs always name one version, which says nothing about newer ones.
 */
export function effectiveConstraints({
  resolution,
}: Pick<Configuration, "resolution">): ProviderConstraint[] {
  const found = [...resolution.requirements.values()].flatMap(({ address, constraints }) =>
    address.kind === "private" || constraints.items.length === 0
      ? []
      : [{ source: address.toString(), versions: constraints.toString() }],
  );
  return recordedConstraints(found);
}

/** A result that leaves a stack as a configuration says, with what that allows. */
export function withConstraints(
  result: ExecutionResult,
  configuration: Pick<Configuration, "resolution">,
): ExecutionResult {
  const { phase } = result;
  if (phase !== "no_changes" && phase !== "applied" && phase !== "partially_applied") return result;
  return { ...result, providerConstraints: effectiveConstraints(configuration) };
}
