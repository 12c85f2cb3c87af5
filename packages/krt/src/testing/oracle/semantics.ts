import { type FetchDesc, type FilterDesc, GROUPS, KEYS, type Obj } from "./program.ts";

/*
 * What the transformations of a program compute, given a way to fetch. Both sides use it: the package with
 * real contexts, the oracle with scans. The filters themselves are written twice: once here, as plain
 * conditions, and once in the terms of the package.
 */

/** Answers one fetch, as objects or (for partial fetches) as projections, in any order. */
type Fetch = (fetch: FetchDesc, input: Obj) => readonly Obj[];

/** The part that partial fetches look at. */
export function projectionOf(object: Obj): Obj {
  return { key: object.key, n: object.n % 2, g: "", labels: {}, selector: {} };
}

/** A number that depends on everything that was fetched, but not on its order. */
function digest(objects: readonly Obj[]): number {
  return objects.reduce((sum, { key, n, g }) => sum + n * 31 + key.charCodeAt(0) * 7 + g.length, 0);
}

/** Makes all fetches of a transformation and digests what they gave. */
export function runFetches(fetches: readonly FetchDesc[], input: Obj, fetch: Fetch): number {
  let total = 0;
  for (const [i, desc] of fetches.entries()) {
    if (desc.conditional && input.n % 2 !== 0) continue;
    total = total * 3 + (i + 1) * digest(fetch(desc, input));
  }
  return total % 10_007;
}

export function keyAt(input: Obj, offset: number): string {
  const at = KEYS.indexOf(input.key[0] as (typeof KEYS)[number]);
  return KEYS[(Math.max(at, 0) + offset + input.n) % KEYS.length] as string;
}

export function groupAt(input: Obj, own: boolean): string {
  return own ? input.g : (GROUPS[input.n % GROUPS.length] as string);
}

export function groupsAt(input: Obj): string[] {
  return input.n % 3 === 0 ? [] : [input.g, GROUPS[input.n % GROUPS.length] as string];
}

/** Whether an object fulfils a condition, told in the plainest way. */
export function fulfils(filter: FilterDesc, input: Obj, object: Obj): boolean {
  const within = (part: Record<string, string>, whole: Record<string, string>) =>
    Object.entries(part).every(([name, value]) => whole[name] === value);
  switch (filter.type) {
    case "all":
      return true;
    case "key":
    case "name":
      return object.key === keyAt(input, filter.offset);
    case "keys":
      return filter.offsets.some((offset) => object.key === keyAt(input, offset));
    case "index":
      return object.g === groupAt(input, filter.own);
    case "indexKeys":
      return groupsAt(input).includes(object.g);
    case "labels":
      return within(input.labels, object.labels);
    case "selecting": {
      if (Object.keys(object.selector).length === 0) return filter.empty;
      return within(object.selector, input.labels);
    }
    case "whereStable":
      return object.n % 2 === 0;
    case "whereInline":
      return object.n > input.n;
    case "any":
      return object.key === input.key || object.g === input.g;
    default:
      return filter satisfies never;
  }
}

export function derived(input: Obj, total: number): Obj | undefined {
  if ((input.n + total) % 7 === 3) return undefined;
  return { ...input, n: (input.n + total) % 6 };
}

/** Whether a run of a derivation that may discard does. */
export function discards(input: Obj, total: number): boolean {
  return (input.n + total) % 5 === 1;
}

/** Whether a run of a derivation that may fail does. */
export function fails(input: Obj, total: number): boolean {
  return (input.n + total) % 4 === 2;
}

export function derivedMany(input: Obj, total: number): Obj[] {
  return Array.from({ length: (input.n + total) % 4 }, (_, i) => ({
    ...input,
    key: `${input.key}${i}`,
    n: (total + i) % 6,
    g: GROUPS[i % GROUPS.length] as string,
  }));
}

export function singletonOf(total: number): Obj | undefined {
  if (total % 6 === 5) return undefined;
  return { key: KEYS[total % 2] as string, n: total % 6, g: GROUPS[0], labels: {}, selector: {} };
}

export function statusOf(input: Obj, total: number): number | undefined {
  return (input.n + total) % 4 === 0 ? undefined : total % 3;
}

export function merged(versions: readonly Obj[], key: string): Obj | undefined {
  const n = versions.reduce((sum, version) => sum * 2 + version.n, 0) % 6;
  const [first] = versions;
  return first === undefined || n === 5 ? undefined : { ...first, key, n };
}

export function viewed(object: Obj): Obj {
  return { ...object, n: Math.floor(object.n / 2) };
}

/** An order in which objects may be alike; those are distinguished by their keys. */
export function orderOf(a: Obj, b: Obj): number {
  return a.n - b.n;
}

export function grouped(group: string, objects: readonly Obj[]): Obj {
  return { key: group, n: digest(objects) % 6, g: group, labels: {}, selector: {} };
}

export function summed(group: string, sum: number, count: number): Obj {
  return { key: group, n: (sum + count) % 6, g: group, labels: {}, selector: {} };
}

/** Whole numbers, whose sums are exact in any order. */
export function weightOf(object: Obj): number {
  return object.n;
}

export const UNIT: Obj = { key: "a", n: 0, g: GROUPS[0], labels: { app: "x1" }, selector: {} };

/** A text that is equal for equal objects. */
export function textOf(object: Obj | undefined): string {
  if (object === undefined) return "-";
  const pairs = (labels: Record<string, string>) =>
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join();
  const { key, n, g, labels, selector } = object;
  return `${key}|${n}|${g}|${pairs(labels)}|${pairs(selector)}`;
}
