import type { NamedStack } from "../state/stack-directory.ts";
import { exportedSerial } from "../state/stack-origin.ts";
import type { StackSnapshot } from "../state/stack-state.ts";
import type { ExportOptions } from "./export-state.ts";

/**
 * Lineage and serial of an exported state: those of the adopted state, continued, so that `terraform state push` accepts it.
 * A stack that began by itself, or adopted a state without a lineage, has the lineage that follows from its ID.
 */
export function exportLine(
  stack: Pick<NamedStack, "adoption"> | undefined,
  { head }: Pick<StackSnapshot, "head">,
): ExportOptions {
  const origin = stack?.adoption;
  if (origin?.kind !== "state") return {};
  const { lineage, terraformVersion } = origin;
  return {
    serial: exportedSerial(origin, head.revision),
    ...(lineage !== "" && { lineage }),
    ...(terraformVersion !== "" && { terraformVersion }),
  };
}
