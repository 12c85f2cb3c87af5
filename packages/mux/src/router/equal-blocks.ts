import type { AttributeSchema, BlockSchema } from "./schema.ts";

/**
 * Where two block schemas differ, as a dotted path and what is different there, or `undefined` when a
 * configuration means the same under both. Descriptions and the order of names do not count.
 */
export function differenceOfBlocks(
  left: BlockSchema | undefined,
  right: BlockSchema | undefined,
  at = "",
): string | undefined {
  if (left === undefined || right === undefined) return left === right ? undefined : place(at);
  return (
    differenceOfAttributes(left.attributes, right.attributes, at) ??
    differenceOfMaps(left.blocks, right.blocks, at, (a, b, path) => {
      if (a.nesting !== b.nesting) return `${path} (nesting ${a.nesting} and ${b.nesting})`;
      return differenceOfBlocks(a.block, b.block, path);
    })
  );
}

function differenceOfAttributes(
  left: ReadonlyMap<string, AttributeSchema>,
  right: ReadonlyMap<string, AttributeSchema>,
  at: string,
): string | undefined {
  return differenceOfMaps(left, right, at, (a, b, path) => {
    if (!a.type.equals(b.type)) return `${path} (type)`;
    for (const flag of ["required", "optional", "computed", "sensitive", "writeOnly"] as const) {
      if (a[flag] !== b[flag]) return `${path} (${flag})`;
    }
    if (a.nested === undefined || b.nested === undefined) {
      return a.nested === b.nested ? undefined : `${path} (nested attributes)`;
    }
    return a.nested.nesting === b.nested.nesting
      ? differenceOfAttributes(a.nested.attributes, b.nested.attributes, path)
      : `${path} (nesting)`;
  });
}

function differenceOfMaps<T>(
  left: ReadonlyMap<string, T>,
  right: ReadonlyMap<string, T>,
  at: string,
  compare: (a: T, b: T, path: string) => string | undefined,
): string | undefined {
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const path = at === "" ? name : `${at}.${name}`;
    const a = left.get(name);
    const b = right.get(name);
    if (a === undefined || b === undefined) return `${path} (only one of them has it)`;
    const difference = compare(a, b, path);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function place(at: string): string {
  return at === "" ? "the whole" : at;
}
