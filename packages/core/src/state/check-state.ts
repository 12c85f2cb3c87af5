import { checkShape } from "./check-object.ts";
import { ObjectIndex } from "./object-index.ts";
import { isPending, type StateObject } from "./state-object.ts";

/** Options of {@link checkState}. */
interface CheckStateOptions {
  /** Whether operations may be in progress, as after an interruption. @default false */
  readonly interrupted?: boolean;
  /** Highest schema version that the provider of an object knows, where that is known. */
  readonly schemaVersion?: (object: StateObject) => number | undefined;
}

/**
 * What is wrong with the whole state of a stack; empty when nothing is.
 *
 * Checked: the rules of each object by itself; every instance dependency of a current object exists; the dependencies
 * have no circle, so there is an order of deletion; no schema version is newer than its provider; and unless
 * interrupted, no call is pending. Time and memory grow with objects and edges. Source: Pulumi's integrity check
 * and Terraform's state, reduced to what this model does not exclude by itself.
 */
export function checkState(
  objects: Iterable<StateObject>,
  { interrupted = false, schemaVersion }: CheckStateOptions = {},
): string[] {
  const all = [...objects];
  const index = new ObjectIndex(all);
  const problems = all.flatMap(checkShape);
  for (const object of all) {
    const name = object.deposed === "" ? object.address : `${object.address} (${object.deposed})`;
    if (!interrupted && isPending(object)) problems.push(`${name} is still ${object.phase}`);
    const highest = schemaVersion?.(object);
    const version = object.value?.schemaVersion ?? 0;
    if (highest !== undefined && version > highest) {
      problems.push(`${name} has schema version ${version}, its provider knows ${highest}`);
    }
    if (object.deposed !== "") continue;
    for (const { address, scope } of object.dependencies) {
      if (scope === "instance" && index.resolve(address) === undefined) {
        problems.push(`${name} depends on ${address}, which does not exist`);
      }
    }
  }
  const circle = findCircle(all, index);
  if (circle !== undefined) problems.push(`the dependencies have a circle: ${circle.join(" -> ")}`);
  return problems;
}

/** The resource of an instance: its address without the key at the end. */
export function resourceOf(address: string): string {
  if (!address.endsWith("]")) return address;
  // A key is a number or a quoted text; quotes within are escaped, and the address before has no open bracket.
  const number = /\[\d+\]$/.exec(address);
  if (number !== null) return address.slice(0, number.index);
  const text = /\["(?:[^"\\]|\\.)*"\]$/.exec(address);
  return text === null ? address : address.slice(0, text.index);
}

/**
 * Nodes that cannot be put in order, as one of their circles. An edge to a resource leads to the node of the resource
 * and from there to its instances, so that n dependents of n instances are 2n edges.
 */
function findCircle(
  objects: readonly StateObject[],
  index: ObjectIndex,
): readonly string[] | undefined {
  const edges = new Map<string, string[]>();
  for (const object of objects) {
    if (object.deposed !== "") continue;
    const out = object.dependencies.flatMap(({ address, scope }) => {
      if (scope === "resource") return [`resource ${address}`];
      return index.resolve(address)?.address ?? [];
    });
    edges.set(object.address, out);
    const resource = `resource ${resourceOf(object.address)}`;
    const instances = edges.get(resource);
    if (instances === undefined) edges.set(resource, [object.address]);
    else instances.push(object.address);
  }
  const state = new Map<string, "open" | "done">();
  for (const start of edges.keys()) {
    if (state.has(start)) continue;
    // Depth first without recursion, as chains may be long.
    const path: { readonly node: string; next: number }[] = [{ node: start, next: 0 }];
    state.set(start, "open");
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = edges.get(top.node)?.[top.next];
      top.next += 1;
      if (next === undefined) {
        state.set(top.node, "done");
        path.pop();
      } else if (state.get(next) === "open") {
        const nodes = path.map(({ node }) => node);
        return [...nodes.slice(nodes.indexOf(next)), next];
      } else if (!state.has(next)) {
        state.set(next, "open");
        path.push({ node: next, next: 0 });
      }
    }
  }
  return undefined;
}
