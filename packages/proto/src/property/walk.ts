import { resourceId } from "./accessors.ts";
import type { PropertyPath } from "./path.ts";
import type { PropertyMap, PropertyValue } from "./value.ts";

/** One value of a tree and its place in it. */
export class PropertyNode {
  readonly value: PropertyValue;
  readonly #around: PropertyNode | undefined;
  readonly #steps: PropertyPath;

  constructor(value: PropertyValue, around: PropertyNode | undefined, steps: PropertyPath) {
    this.value = value;
    this.#around = around;
    this.#steps = steps;
  }

  /** Steps from the top; what is in a secret or output has the path of that. */
  path(): PropertyPath {
    const steps = this.#steps.toReversed();
    for (let node = this.#around; node !== undefined; node = node.#around) {
      steps.push(...node.#steps.toReversed());
    }
    return steps.reverse();
  }
}

/**
 * Calls `visit` for every value of a tree, outer ones first, in order, at any depth. `"skip"`
 * leaves out what is inside of a value, `"stop"` ends the walk.
 */
export function walkProperties(
  root: PropertyValue | PropertyMap,
  visit: (node: PropertyNode) => "skip" | "stop" | undefined,
): void {
  const pending: PropertyNode[] = [];
  if ("kind" in root) pending.push(new PropertyNode(root, undefined, []));
  else pushAll(pending, undefined, root, []);
  pending.reverse();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const verdict = visit(node);
    if (verdict === "stop") return;
    if (verdict === "skip") continue;
    const count = pending.length;
    pushMembers(pending, node);
    reverseFrom(pending, count);
  }
}

function pushMembers(pending: PropertyNode[], node: PropertyNode): void {
  const { value } = node;
  switch (value.kind) {
    case "list":
      for (const [index, element] of value.values.entries()) {
        pending.push(new PropertyNode(element, node, [index]));
      }
      return;
    case "map":
      pushAll(pending, node, value.entries, []);
      return;
    case "archive":
      pushAll(pending, node, value.assets ?? new Map(), ["assets"]);
      break;
    case "secret":
    case "output":
      if (value.value !== undefined) pending.push(new PropertyNode(value.value, node, []));
      break;
    case "resource":
      if (value.id !== undefined) pending.push(new PropertyNode(value.id, node, ["id"]));
      break;
    case "bytes":
    case "asset":
      break;
    case "null":
    case "bool":
    case "number":
    case "string":
    case "unknown":
      return;
    default:
      value satisfies never;
      return;
  }
  if (value.extra !== undefined) pushAll(pending, node, value.extra, []);
}

function pushAll(
  pending: PropertyNode[],
  around: PropertyNode | undefined,
  entries: PropertyMap,
  prefix: PropertyPath,
): void {
  for (const [key, value] of entries)
    pending.push(new PropertyNode(value, around, [...prefix, key]));
}

function reverseFrom(pending: PropertyNode[], start: number): void {
  for (let left = start, right = pending.length - 1; left < right; left += 1, right -= 1) {
    const node = pending[left] as PropertyNode;
    pending[left] = pending[right] as PropertyNode;
    pending[right] = node;
  }
}

/**
 * Whether some value in a tree is not known: an unknown value, an output without a value, or a
 * reference to a resource whose id is not known.
 */
export function containsUnknown(root: PropertyValue | PropertyMap): boolean {
  return someProperty(root, isUnknown);
}

/** Whether some value in a tree is a secret or an output that is one. */
export function containsSecret(root: PropertyValue | PropertyMap): boolean {
  return someProperty(root, isSecret);
}

/** Whether a value, disregarding what is in it, is not known. */
export function isUnknown(value: PropertyValue): boolean {
  if (value.kind === "resource") return resourceId(value).kind === "unknown";
  return value.kind === "unknown" || (value.kind === "output" && value.value === undefined);
}

/** Whether a value, disregarding what is in it, is secret. */
export function isSecret(value: PropertyValue): boolean {
  return value.kind === "secret" || (value.kind === "output" && value.secret === true);
}

function someProperty(
  root: PropertyValue | PropertyMap,
  predicate: (value: PropertyValue) => boolean,
): boolean {
  let found = false;
  walkProperties(root, ({ value }) => {
    found = predicate(value);
    return found ? "stop" : undefined;
  });
  return found;
}
