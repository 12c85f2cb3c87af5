import { applyPath, CtyError, type Path, Value } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";
import type { Violations } from "./violation.ts";

/** What of a plan decides about replacement. */
interface ReplacementPlan {
  readonly block: BlockSchema;
  readonly prior: Value;
  readonly planned: Value;
  readonly requiresReplace: readonly Path[];
}

/**
 * The paths that force replacement because the value there changed. Without a prior object there is nothing to replace.
 * Write-only values cannot be compared, so their paths always count. A path that leads nowhere in both objects is a
 * violation.
 */
export function effectiveReplacements(plan: ReplacementPlan, violations: Violations): Path[] {
  const { block, prior, planned, requiresReplace } = plan;
  if (prior.isNull) return [];
  return requiresReplace.filter((path) => {
    const before = partAt(prior, path);
    const after = partAt(planned, path);
    if (before === undefined && after === undefined) {
      violations.add("replacement-path", path, "replacement is asked for where there is nothing");
      return false;
    }
    return isWriteOnly(block, path) || !sameParts(before, after);
  });
}

function partAt(value: Value, path: Path): Value | undefined {
  try {
    return applyPath(value, path);
  } catch (error) {
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}

function sameParts(before: Value | undefined, after: Value | undefined): boolean {
  const one = before ?? Value.null(after?.type ?? Value.dynamic.type);
  const other = after ?? Value.null(one.type);
  if (one.isKnown && other.isKnown && one.isNull && other.isNull) return true;
  return one.equals(other) === true;
}

/** Whether a path leads to a write-only attribute, or into one. */
function isWriteOnly(block: BlockSchema, path: Path): boolean {
  let attributes: ReadonlyMap<string, AttributeSchema> = block.attributes;
  let blocks = block.blocks;
  for (const step of path.steps) {
    if (step.kind === "index") continue;
    const attribute = attributes.get(step.name);
    if (attribute?.writeOnly === true) return true;
    const nested = blocks.get(step.name)?.block;
    attributes = attribute?.nested?.attributes ?? nested?.attributes ?? new Map();
    blocks = nested?.blocks ?? new Map();
  }
  return false;
}

/** What happens to one object. */
export type PlannedAction = "create" | "no-op" | "update" | "replace" | "delete";

/**
 * What a plan does.
 *
 * @param requiresReplace the paths that count, see {@link effectiveReplacements}
 */
export function plannedAction(
  prior: Value,
  planned: Value,
  requiresReplace: readonly Path[],
): PlannedAction {
  if (planned.isNull) return prior.isNull ? "no-op" : "delete";
  if (prior.isNull) return "create";
  if (requiresReplace.length > 0) return "replace";
  return sameParts(prior, planned) ? "no-op" : "update";
}
