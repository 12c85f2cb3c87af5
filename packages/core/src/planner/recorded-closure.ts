import { resourceOf } from "../state/check-state.ts";
import type { StateObject } from "../state/state-object.ts";

/**
 * Objects that pass, and what is reached from them along recorded dependencies in one direction.
 *
 * @param leadsOn whether the walk continues from a reached object
 */
export function recordedClosure(
  all: readonly StateObject[],
  test: (object: StateObject) => boolean,
  direction: "dependents" | "dependencies",
  leadsOn: (object: StateObject) => boolean = () => true,
): ReadonlySet<StateObject> {
  const byName = new Map<string, StateObject[]>();
  const add = (name: string, object: StateObject): void => {
    const list = byName.get(name);
    if (list === undefined) byName.set(name, [object]);
    else list.push(object);
  };
  for (const object of all) {
    if (direction === "dependents")
      for (const { address } of object.dependencies) add(address, object);
    else for (const name of namesOf(object)) add(name, object);
  }
  const start = new Set(all.filter(test));
  const reached = new Set(start);
  for (const object of reached) {
    if (!start.has(object) && !leadsOn(object)) continue;
    const names =
      direction === "dependents"
        ? namesOf(object)
        : object.dependencies.map(({ address }) => address);
    for (const name of names) for (const next of byName.get(name) ?? []) reached.add(next);
  }
  return reached;
}

/** What dependencies may call an object: its address, those that it had before, and the resources of all of them. */
function namesOf({ address, aliases }: StateObject): ReadonlySet<string> {
  return new Set([address, ...aliases].flatMap((name) => [name, resourceOf(name)]));
}
