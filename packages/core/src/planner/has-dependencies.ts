import { recordedDependencies } from "../ephemeral/recorded-dependencies.ts";
import type { ResourceChange } from "../plan/change.ts";
import type { StateObject } from "../state/state-object.ts";

/** Whether these are the dependencies that are recorded of an object. */
export function hasDependencies(
  { dependencies: before }: Pick<StateObject, "dependencies">,
  dependencies: ResourceChange["dependencies"],
): boolean {
  const now = recordedDependencies(dependencies);
  if (before.length !== now.length) return false;
  const keys = new Set(before.map(({ address, scope, kind }) => `${kind} ${scope} ${address}`));
  return now.every(({ address, scope, kind }) => keys.has(`${kind} ${scope} ${address}`));
}
