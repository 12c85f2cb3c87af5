import { setImmediate as nextTurn } from "node:timers/promises";
import type { LiveView } from "./live-view.ts";
import type { ResourceFact } from "./resource-facts.ts";
import type { StackFact } from "./stack-facts.ts";

/** Objects that are looked at before others have their turn. */
const SLICE = 20_000;

/** A resource with the stack that it is of. */
interface FoundResource {
  readonly stack: StackFact;
  readonly resource: ResourceFact;
}

/** The stacks in which something is looked for, by project and name. */
export function sortedStacks(
  live: LiveView,
  isVisible: (stack: StackFact) => boolean,
): readonly StackFact[] {
  return live.placed.list().filter(isVisible);
}

/** Visits the resources of stacks, and yields to others on the way. Ends when the visitor answers false. */
export async function visitResources(
  live: LiveView,
  { stacks, signal }: { readonly stacks: readonly StackFact[]; readonly signal: AbortSignal },
  visit: (stack: StackFact, resources: readonly ResourceFact[]) => boolean,
): Promise<void> {
  const { byStack } = live.resources;
  let looked = 0;
  for (const stack of stacks) {
    const resources = byStack.lookup(stack.key);
    if (!visit(stack, resources)) return;
    looked += resources.length;
    if (looked < SLICE) continue;
    looked = 0;
    await nextTurn(undefined, { signal });
  }
}

/**
 * The resources that fulfil a condition, up to one more than a number, so that the caller sees whether there are more: by project, name of
 * the stack and address.
 */
export async function searchResources(
  live: LiveView,
  {
    isMatch,
    limit,
    ...where
  }: {
    readonly stacks: readonly StackFact[];
    readonly isMatch: (resource: ResourceFact) => boolean;
    readonly limit: number;
    readonly signal: AbortSignal;
  },
): Promise<readonly FoundResource[]> {
  const found: FoundResource[] = [];
  await visitResources(live, where, (stack, resources) => {
    const ofStack = resources.filter(isMatch).sort((a, b) => (a.address < b.address ? -1 : 1));
    for (const resource of ofStack.slice(0, limit + 1 - found.length)) {
      found.push({ stack, resource });
    }
    return found.length <= limit;
  });
  return found;
}
