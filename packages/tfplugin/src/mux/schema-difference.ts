import type * as t6 from "@stackwright/proto/tfplugin6";

/**
 * Where two schemas mean something else, as a dotted path and what is different there; `undefined` where a
 * configuration means the same under both. Descriptions, the order of names, and how many blocks there may be do not
 * count.
 */
export function schemaDifference(left: t6.Schema, right: t6.Schema): string | undefined {
  if (left.version !== right.version) return `version (${left.version} and ${right.version})`;
  return differenceOfBlocks(left.block, right.block, "");
}

function differenceOfBlocks(
  left: t6.Schema_Block | undefined,
  right: t6.Schema_Block | undefined,
  at: string,
): string | undefined {
  return (
    differenceOfAttributes(left?.attributes ?? [], right?.attributes ?? [], at) ??
    differenceByName(left?.blockTypes ?? [], right?.blockTypes ?? [], at, {
      nameOf: ({ typeName }) => typeName,
      compare: (a, b, path) =>
        a.nesting === b.nesting ? differenceOfBlocks(a.block, b.block, path) : `${path} (nesting)`,
    })
  );
}

const FLAGS = ["required", "optional", "computed", "sensitive", "writeOnly"] as const;

function differenceOfAttributes(
  left: readonly t6.Schema_Attribute[],
  right: readonly t6.Schema_Attribute[],
  at: string,
): string | undefined {
  return differenceByName(left, right, at, {
    nameOf: ({ name }) => name,
    compare: (a, b, path) => {
      if (Buffer.compare(a.type, b.type) !== 0) return `${path} (type)`;
      const flag = FLAGS.find((name) => a[name] !== b[name]);
      if (flag !== undefined) return `${path} (${flag})`;
      if (a.nestedType?.nesting !== b.nestedType?.nesting) return `${path} (nesting)`;
      const [x, y] = [a.nestedType?.attributes ?? [], b.nestedType?.attributes ?? []];
      return differenceOfAttributes(x, y, path);
    },
  });
}

function differenceByName<T>(
  left: readonly T[],
  right: readonly T[],
  at: string,
  by: {
    readonly nameOf: (item: T) => string;
    readonly compare: (a: T, b: T, path: string) => string | undefined;
  },
): string | undefined {
  const [a, b] = [left, right].map(
    (items) => new Map(items.map((item) => [by.nameOf(item), item])),
  );
  for (const name of new Set([...(a?.keys() ?? []), ...(b?.keys() ?? [])])) {
    const path = at === "" ? name : `${at}.${name}`;
    const [one, other] = [a?.get(name), b?.get(name)];
    if (one === undefined || other === undefined) return `${path} (only one of them has it)`;
    const difference = by.compare(one, other, path);
    if (difference !== undefined) return difference;
  }
  return undefined;
}
