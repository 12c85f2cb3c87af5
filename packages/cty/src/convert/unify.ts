import { unmarkDeep } from "../operation/operands.ts";
import { NO_NAMES, ObjectType, type Type, Type as Types } from "../type/type.ts";
import { Value } from "../value/value.ts";
import type { Convert, Converter, Unification } from "./converter.ts";
import { groupTypes, sortTypeGroups, type TypeGroup } from "./sort-types.ts";

/**
 * The most general type that all given types can be converted to, with the conversions; undefined where there is none.
 *
 * Types of one structural kind are unified part by part, because in unsafe mode an object converts to any object with
 * fewer attributes, which would be a useless common type. Objects with different attributes become a map, tuples of
 * different lengths a list. Everything else falls back on the given types themselves, the most general first. Where
 * `dynamic` meets a structural type the result is `dynamic`: it is not known yet which conversion would apply.
 */
export function unifyTypes(
  converter: Converter,
  types: readonly Type[],
  unsafe: boolean,
): Unification | undefined {
  const groups = groupTypes(types);
  const [first, second] = groups;
  if (first === undefined) return undefined;
  if (second === undefined && !first.type.hasOptional) {
    return { type: first.type, conversions: types.map(() => undefined) };
  }
  const kinds = new Set(groups.map((group) => group.type.kind));
  const open = kinds.delete("dynamic");
  const only = (...allowed: Type["kind"][]): boolean =>
    allowed.every((kind) => kinds.has(kind)) && kinds.size === allowed.length;

  if (only("map") || only("list") || only("set") || only("object") || only("tuple")) {
    if (open) return allDynamic(types);
    return unifySameKind(converter, types, unsafe);
  }
  if (only("map", "object") || only("list", "tuple")) {
    const unified = unifyWithCollections(converter, types, unsafe);
    if (unified !== undefined) return unified;
  } else if (kinds.has("object") && kinds.has("tuple")) {
    return undefined;
  }
  return mostGeneral(converter, types, groups, unsafe);
}

/** The first of the given types, in the order of preference, that all others convert to. */
function mostGeneral(
  converter: Converter,
  types: readonly Type[],
  groups: readonly TypeGroup[],
  unsafe: boolean,
): Unification | undefined {
  for (const { type } of sortTypeGroups(groups)) {
    const unified = withConversions(converter, types, type, unsafe);
    if (unified !== undefined) return unified;
  }
  return undefined;
}

/** The conversions to a type, or undefined where one of them does not exist. */
function withConversions(
  converter: Converter,
  types: readonly Type[],
  target: Type,
  unsafe: boolean,
): Unification | undefined {
  const conversions: (Convert | undefined)[] = [];
  for (const { type, positions } of groupTypes(types)) {
    if (type.equals(target)) continue;
    const convert = converter.find(type, target, unsafe);
    if (convert === undefined) return undefined;
    for (const position of positions) conversions[position] = convert;
  }
  return { type: target, conversions: types.map((_, i) => conversions[i]) };
}

function unifySameKind(
  converter: Converter,
  types: readonly Type[],
  unsafe: boolean,
): Unification | undefined {
  const objects = types.filter((type) => type.kind === "object");
  if (objects.length > 0) return unifyObjects(converter, objects, unsafe);
  const tuples = types.filter((type) => type.kind === "tuple");
  if (tuples.length > 0) return unifyTuples(converter, tuples, unsafe);
  const collections = types.filter(
    (type) => type.kind === "list" || type.kind === "set" || type.kind === "map",
  );
  const kind = collections[0]?.kind ?? "list";
  const element = converter.unify(
    collections.map((type) => type.element),
    unsafe,
  )?.type;
  if (element === undefined) return undefined;
  return withConversions(converter, types, Types[kind](element), unsafe);
}

function unifyObjects(
  converter: Converter,
  types: readonly ObjectType[],
  unsafe: boolean,
): Unification | undefined {
  const names = types[0]?.names ?? [];
  const alike = types.every(
    (type) =>
      type.names.length === names.length && type.names.every((name, i) => names[i] === name),
  );
  if (alike) {
    const parts: Type[] = [];
    for (const i of names.keys()) {
      const across = types.map((type) => type.types[i] ?? Types.dynamic);
      const part = converter.unify(across, unsafe)?.type;
      // What does not unify alone does not unify as an element of a map either.
      if (part === undefined) return undefined;
      parts.push(part);
    }
    const target = new ObjectType(names, parts, NO_NAMES);
    const unified = withConversions(converter, types, target, unsafe);
    if (unified !== undefined) return unified;
  }
  return unifyObjectsToMap(converter, types, unsafe);
}

function unifyObjectsToMap(
  converter: Converter,
  types: readonly ObjectType[],
  unsafe: boolean,
): Unification | undefined {
  const element = converter.unify(
    types.flatMap((type) => type.types),
    unsafe,
  )?.type;
  if (element === undefined) return undefined;
  return withConversions(converter, types, Types.map(element), unsafe);
}

type TupleTypes = readonly Extract<Type, { kind: "tuple" }>[];

function unifyTuples(
  converter: Converter,
  types: TupleTypes,
  unsafe: boolean,
): Unification | undefined {
  const length = types[0]?.elements.length ?? 0;
  if (types.every((type) => type.elements.length === length)) {
    const parts: Type[] = [];
    for (let i = 0; i < length; i += 1) {
      const across = types.map((type) => type.elements[i] ?? Types.dynamic);
      const part = converter.unify(across, unsafe)?.type;
      if (part === undefined) return undefined;
      parts.push(part);
    }
    const unified = withConversions(converter, types, Types.tuple(parts), unsafe);
    if (unified !== undefined) return unified;
  }
  return unifyTuplesToList(converter, types, unsafe);
}

function unifyTuplesToList(
  converter: Converter,
  types: TupleTypes,
  unsafe: boolean,
): Unification | undefined {
  const element = converter.unify(
    types.flatMap((type) => type.elements),
    unsafe,
  )?.type;
  if (element === undefined) return undefined;
  return withConversions(converter, types, Types.list(element), unsafe);
}

/**
 * Objects next to maps are mostly maps that were written as objects, and tuples next to lists are lists. So the
 * structural ones are first made one collection, and that is unified with the rest.
 */
function unifyWithCollections(
  converter: Converter,
  types: readonly Type[],
  unsafe: boolean,
): Unification | undefined {
  const objects = types.filter((type) => type.kind === "object");
  const tuples = types.filter((type) => type.kind === "tuple");
  const inner =
    objects.length > 0
      ? unifyObjectsToMap(converter, objects, unsafe)
      : unifyTuplesToList(converter, tuples, unsafe);
  if (inner === undefined) return undefined;
  const structural = (type: Type): boolean => type.kind === "object" || type.kind === "tuple";
  const unified = converter.unify(
    types.map((type) => (structural(type) ? inner.type : type)),
    unsafe,
  );
  if (unified === undefined || unified.type.kind !== inner.type.kind) return undefined;
  let next = 0;
  const conversions = unified.conversions.map((outer, i) => {
    const type = types[i];
    if (type === undefined || !structural(type)) return outer;
    const convert = inner.conversions[next];
    next += 1;
    return compose(convert, outer);
  });
  return { type: unified.type, conversions };
}

function compose(first: Convert | undefined, second: Convert | undefined): Convert | undefined {
  if (first === undefined) return second;
  if (second === undefined) return first;
  return (value) => second(first(value));
}

/** Everything becomes a value of open type, with all marks it had. */
function allDynamic(types: readonly Type[]): Unification {
  const forget: Convert = (value) => Value.dynamic.withMarks(unmarkDeep(value)[1]);
  return { type: Types.dynamic, conversions: types.map(() => forget) };
}
