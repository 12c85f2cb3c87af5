import type { StateObject } from "../state/state-object.ts";
import { recordedClosure } from "./recorded-closure.ts";
import type { Selection } from "./selection.ts";

/**
 * Objects that cannot be removed because the plan leaves out an object that depends on them in the state and would
 * continue to depend on them.
 *
 * @param stays whether an object that is needed stays as it is recorded, and so needs what it needed; a planned one may
 * no longer depend on it
 */
export function blockedRemovals(
  objects: ReadonlyMap<string, StateObject>,
  selection: Selection,
  stays: (object: StateObject) => boolean,
): ReadonlySet<StateObject> {
  if (!selection.partial) return new Set();
  const isLeftOut = ({ address }: StateObject): boolean => selection.isLeftOut(address);
  return recordedClosure([...objects.values()], isLeftOut, "dependencies", stays);
}
