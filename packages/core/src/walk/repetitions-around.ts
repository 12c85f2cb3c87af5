import type { EvaluationScope, Expression, Repetition } from "@stackwright/lang";
import type { ResourceValues } from "./resource-values.ts";

/** What decides how many there are of something, with the names that it sees. */
interface PlacedRepetition {
  readonly expressions: readonly Expression[];
  readonly scope: EvaluationScope;
}

/** What decides which instances of a resource there are: its own arguments, and those of the module calls around it. */
export function repetitionsAround({
  config,
  module,
}: Pick<ResourceValues, "config" | "module">): readonly PlacedRepetition[] {
  const found: PlacedRepetition[] = [];
  if (config !== undefined) {
    found.push({ expressions: expressionsOf(config), scope: module.scope.forInstance({}) });
  }
  for (let at = module.place; at !== undefined; at = at.call.parent.place) {
    const { config: call, parent } = at.call;
    found.push({ expressions: expressionsOf(call), scope: parent.scope.forInstance({}) });
  }
  return found;
}

function expressionsOf({
  count,
  forEach,
  enabled,
}: Pick<Repetition, "count" | "forEach" | "enabled">): readonly Expression[] {
  return [count, forEach, enabled].filter((one) => one !== undefined);
}
