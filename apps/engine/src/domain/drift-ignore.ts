import type { DriftIgnore, StackDrift } from "@stackwright/proto/stackwright";
import { type FoundDrift, MAX_DRIFTED_ATTRIBUTES } from "./found-drift.ts";

/** Ignores of a stack, characters of a reason, and the longest time of one. */
export const MAX_IGNORES = 50;
export const MAX_IGNORE_REASON = 256;
export const MAX_IGNORED_DAYS = 366;

type FoundObject = FoundDrift["objects"][number];
/** An object, or one of its attributes where that is not empty. */
export type IgnoredPlace = Pick<DriftIgnore, "address" | "attribute">;

/** Drift as a stack has it: what counts, and what is ignored. */
interface CountedDrift {
  /** Objects with as much of them as counts. */
  readonly counted: FoundDrift;
  /** Objects of which nothing counts. */
  readonly ignored: FoundDrift;
}

/** The attributes of an object that are ignored, and whether nothing of it counts. */
export function ignoredOf(
  { address, deleted, attributes }: FoundObject,
  ignores: readonly IgnoredPlace[],
): { readonly attributes: readonly string[]; readonly isWhole: boolean } {
  const own = ignores.filter((one) => one.address === address);
  if (own.some(({ attribute }) => attribute === "")) return { attributes, isWhole: true };
  const names = new Set(own.map(({ attribute }) => attribute));
  const ignored = attributes.filter((name) => names.has(name));
  // Beyond the bound it is not known which objects differ: none of these is ignored.
  const isAllNamed = attributes.length > 0 && attributes.length < MAX_DRIFTED_ATTRIBUTES;
  const isWhole = !deleted && isAllNamed && ignored.length === attributes.length;
  return { attributes: ignored, isWhole };
}

/** Whether an object that differs is ignored, or a part of it. */
export function touchesIgnored({ objects, ignores }: Pick<StackDrift, "objects" | "ignores">) {
  return objects.some((one) => {
    const { attributes, isWhole } = ignoredOf(one, ignores);
    return isWhole || attributes.length > 0;
  });
}

/** Takes apart what differs. Of objects beyond those that are named none is ignored. */
export function countDrift(all: FoundDrift, ignores: readonly IgnoredPlace[]): CountedDrift {
  const counted: FoundObject[] = [];
  const ignored: FoundObject[] = [];
  for (const one of all.objects) {
    const { attributes, isWhole } = ignoredOf(one, ignores);
    if (isWhole) ignored.push(one);
    else {
      const left = one.attributes.filter((name) => !attributes.includes(name));
      counted.push(attributes.length === 0 ? one : { ...one, attributes: left });
    }
  }
  const deleted = ignored.filter((one) => one.deleted).length;
  const changed = ignored.length - deleted;
  return {
    counted: {
      changed: all.changed - changed,
      deleted: all.deleted - deleted,
      objects: counted,
    },
    ignored: { changed, deleted, objects: ignored },
  };
}

/** All that a stack is known to differ in, whether it counts or not. */
export function allDriftOf(drift: StackDrift): FoundDrift {
  const { changed, deleted, ignoredChanged, ignoredDeleted, objects } = drift;
  return { changed: changed + ignoredChanged, deleted: deleted + ignoredDeleted, objects };
}
