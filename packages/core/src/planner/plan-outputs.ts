import { Mark, type Value } from "@stackwright/cty";
import type { Configuration } from "../configuration/configuration.ts";
import type { OutputChange } from "../plan/change.ts";
import { pathOutsideSecrets } from "../plan/path-outside-secrets.ts";
import { outputValue } from "../state/output-value.ts";
import type { StackOutput } from "../state/stack-state.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import { infinitePart } from "./infinite-part.ts";
import type { PlanRun } from "./plan-run.ts";
import type { Selection } from "./selection.ts";

/** What happens to the outputs of the root module. Those that the plan is not about stay as they are. */
export function planOutputs(
  run: PlanRun,
  { root, graph }: Configuration,
  selection: Selection,
  recorded: ReadonlyMap<string, StackOutput>,
): readonly OutputChange[] {
  const changes: OutputChange[] = [];
  const names = new Set([...root.config.outputs.keys(), ...recorded.keys()]);
  for (const name of [...names].toSorted()) {
    const config = root.config.outputs.get(name);
    const stored = recorded.get(name);
    const before = stored === undefined ? undefined : outputValue(stored);
    const sensitive = config?.sensitive ?? stored?.sensitive ?? false;
    const node = graph.nodes.get(`output.${name}`);
    const kept = config !== undefined && (node === undefined || !selection.includesNode(node));
    if (kept || (config === undefined && selection.partial)) {
      if (before !== undefined)
        changes.push({ name, action: "no-op", before, after: before, sensitive });
      continue;
    }
    const ends = run.given.options.mode === "destroy" || config === undefined;
    const value = ends ? undefined : run.world.root.output(name).value;
    const after = value === undefined ? undefined : keepSensitive(value, sensitive);
    const infinite = after === undefined ? undefined : infinitePart(after);
    if (after !== undefined && infinite !== undefined) {
      run.fail(
        "Infinite number",
        `output.${name}${pathOutsideSecrets(infinite, after).toString()} would be infinite, which cannot be recorded. A division by zero is a usual cause.`,
        config && { subject: config.range },
      );
      continue;
    }
    const change = { name, sensitive, ...(before && { before }), ...(after && { after }) };
    if (after === undefined) {
      if (before !== undefined) changes.push({ ...change, action: "delete" });
    } else if (before === undefined && isNull(after)) {
      // An output without a value is none; it is listed, as the reference command does, and never recorded.
      changes.push({ ...change, action: "no-op" });
    } else if (before === undefined) changes.push({ ...change, action: "create" });
    else changes.push({ ...change, action: before.rawEquals(after) ? "no-op" : "update" });
  }
  return changes;
}

function isNull(value: Value): boolean {
  const plain = value.unmark()[0];
  return plain.isKnown && plain.isNull;
}

/** Outputs are secret as a whole or not at all. */
function keepSensitive(value: Value, sensitive: boolean): Value {
  const plain = withoutMarks(value);
  return sensitive ? plain.mark(Mark.sensitive) : plain;
}
