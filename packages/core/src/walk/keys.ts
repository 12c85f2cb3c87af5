import { Value } from "@stackwright/cty";
import type { Expansion, InstanceContext, InstanceKey } from "@stackwright/lang";

/** Which instances something has: the part of an expansion that a plan freezes. */
export type RecordedKeys =
  | { readonly kind: "single" }
  /** Disabled: what would have one instance has none. */
  | { readonly kind: "none" }
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "for_each"; readonly keys: readonly string[] };

/** The instances of something, and the names that each of them sees. */
export interface Keys {
  readonly kind: RecordedKeys["kind"];
  readonly list: readonly (InstanceKey | undefined)[];
  contextOf(key: InstanceKey | undefined): InstanceContext;
}

const SINGLE: Keys = { kind: "single", list: [undefined], contextOf: () => ({}) };
const NONE: Keys = { kind: "none", list: [], contextOf: () => ({}) };

/** The instances of an expansion that is known. */
export function keysOf(
  expansion: Extract<Expansion, { kind: "single" | "none" | "count" | "for_each" }>,
): Keys {
  if (expansion.kind === "single") return SINGLE;
  if (expansion.kind === "none") return NONE;
  if (expansion.kind === "count") return countKeys(expansion.count);
  const { entries } = expansion;
  return forEachKeys([...entries.keys()], (key) => entries.get(key) ?? Value.dynamic);
}

/** The frozen instances again; values of `for_each` are asked for when they are used. */
export function restoreKeys(frozen: RecordedKeys, valueOf: (key: string) => Value): Keys {
  if (frozen.kind === "single") return SINGLE;
  if (frozen.kind === "none") return NONE;
  return frozen.kind === "count" ? countKeys(frozen.count) : forEachKeys(frozen.keys, valueOf);
}

export function recordKeys(keys: Keys): RecordedKeys {
  if (keys.kind === "single" || keys.kind === "none") return { kind: keys.kind };
  if (keys.kind === "count") return { kind: "count", count: keys.list.length };
  return { kind: "for_each", keys: keys.list.map(String) };
}

function countKeys(count: number): Keys {
  return {
    kind: "count",
    list: Array.from({ length: count }, (_, index) => index),
    contextOf: (key) => (typeof key === "number" ? { countIndex: key } : {}),
  };
}

function forEachKeys(list: readonly string[], valueOf: (key: string) => Value): Keys {
  return {
    kind: "for_each",
    list,
    contextOf(key) {
      if (typeof key !== "string") return {};
      return {
        each: {
          key: Value.string(key),
          get value() {
            return valueOf(key);
          },
        },
      };
    },
  };
}
