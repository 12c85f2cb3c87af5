import type { ConfigGraph } from "@stackwright/lang";
import { objectKey, type StateObject } from "../state/state-object.ts";
import { blockedRemovals } from "./blocked-removals.ts";
import { blockOf, type Waiting } from "./deferral.ts";
import type { PlanRun } from "./plan-run.ts";
import { recordedClosure } from "./recorded-closure.ts";
import { selectPart } from "./selection.ts";

/**
 * Resources with an instance that would be replaced while an object that is left to a later stage needs it by record: they wait, too, as
 * what waits keeps what it needs. What excludes of the caller leave out does not hold others back: a part was asked for.
 */
export function replacedBelow(
  run: PlanRun,
  graph: ConfigGraph,
  waiting: readonly Waiting[],
): readonly Waiting[] {
  if (waiting.length === 0) return [];
  const excludes = waiting.map(({ address }) => address);
  const selection = selectPart(graph, { targets: [], excludes }, []);
  const isPlanned = (object: StateObject): boolean => run.changes.has(objectKey(object));
  const { objects } = run.given;
  const needed = blockedRemovals(objects, selection, (object) => !isPlanned(object));
  return [...needed].flatMap((object) => {
    if (run.changes.get(objectKey(object))?.action !== "replace") return [];
    const users = recordedClosure(
      [...needed],
      (one) => one === object,
      "dependents",
      () => false,
    );
    const neededBy = [...users]
      .filter((one) => one !== object && !isPlanned(one))
      .map(({ address }) => address);
    const needs = `${neededBy[0] ?? "an object"}, which is left to a later stage, still needs it`;
    const because = `it would be replaced, and ${needs}`;
    return [{ address: blockOf(object.address), because, neededBy }];
  });
}
