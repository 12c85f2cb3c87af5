import type { Value } from "@stackwright/cty";
import type { Plan } from "./plan.ts";

/**
 * What the root module publishes once a plan was applied, with unknown parts, sensitive outputs marked; undefined where all stay as
 * they are. Null ones are not published.
 */
export function plannedOutputs({
  outputs,
}: Pick<Plan, "outputs">): ReadonlyMap<string, Value> | undefined {
  if (outputs.every(({ action }) => action === "no-op")) return undefined;
  return new Map(
    outputs.flatMap(({ name, action, after }) => {
      if (action === "delete" || after === undefined) return [];
      const [plain] = after.unmark();
      return plain.isKnown && plain.isNull ? [] : [[name, after] as const];
    }),
  );
}
