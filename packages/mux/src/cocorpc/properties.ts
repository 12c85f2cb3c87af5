import {
  decodeStruct,
  encodeStruct,
  equalProperties,
  type PropertyMap,
  type PropertyValue,
} from "@stackwright/proto/property";
import type { EncodedStruct } from "@stackwright/proto/struct";

/**
 * Where the adapters keep the name that a 2017 provider gave: among the inputs, under a key that only engines
 * know. It never reaches the provider itself.
 */
export const NAME_KEY = "__name";

export function decodeProperties(struct: EncodedStruct | undefined): PropertyMap {
  return struct === undefined ? new Map() : decodeStruct(struct);
}

/** Encodes properties for a 2017 provider: without internal keys, secrets, references and output values. */
export function encodeForCocorpc(properties: PropertyMap): EncodedStruct {
  return encodeStruct(properties, {
    secrets: "strip",
    resources: "strip",
    outputs: "strip",
    skipInternalKeys: "top",
  });
}

export function stringOf(value: PropertyValue | undefined): string | undefined {
  return value?.kind === "string" ? value.value : undefined;
}

/** Names of top-level properties that differ, sorted. */
export function changedKeys(olds: PropertyMap, news: PropertyMap): string[] {
  return [...new Set([...olds.keys(), ...news.keys()])].toSorted().filter((key) => {
    const before = olds.get(key);
    const after = news.get(key);
    return before === undefined || after === undefined || !equalProperties(before, after);
  });
}
