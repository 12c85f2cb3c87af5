import { add, and, convert, hasElement, or, Type, typeName, unify, Value } from "@stackwright/cty";
import type { LangFunction, ValueFunction } from "../eval/function.ts";
import { anyParam, argument, invalidArgument, param } from "./parameter.ts";
import { isSequenceType } from "./sequence.ts";

const truths = param("list", Type.list(Type.bool), "the truth values");

function sum(list: Value): Value {
  if (!isSequenceType(list.type))
    invalidArgument(`argument must be list, set, or tuple. Received ${typeName(list.type)}`, 0);
  if (list.size === 0) invalidArgument("cannot sum an empty list", 0);
  if (!list.isWhollyKnown) return Value.unknown(Type.number);
  return list.elements().reduce((total, element) => {
    if (element.isNull) invalidArgument("argument must be list, set, or tuple of number values", 0);
    let number = element;
    try {
      number = convert(element, Type.number);
    } catch {
      invalidArgument("argument must be list, set, or tuple of number values", 0);
    }
    return add(total, number);
  }, Value.zero);
}

/** The type of a set that is made of the sets given. An empty set of no particular type fits every other one. */
function setTypeOf(args: readonly Value[]): Type {
  const types = args.flatMap(({ type }) => (type.kind === "set" ? [type.element] : []));
  const open = args.some((value) => !value.hasWhollyKnownType);
  if (open || types.length < args.length) return Type.dynamic;
  const definite = types.filter((type) => type.kind !== "dynamic");
  if (definite.length === 0) return Type.set(Type.dynamic);
  const unified = unify(definite);
  if (unified === undefined) invalidArgument("given sets must all have compatible element types");
  return Type.set(unified?.type ?? Type.dynamic);
}

/** Operations on sets: they convert all to one element type first. */
function setOperation(
  name: string,
  description: string,
  combine: (sets: readonly Value[]) => readonly Value[],
  keepsUnknown: boolean,
): ValueFunction {
  const set = Type.set(Type.dynamic);
  return {
    name,
    category: "collection",
    description,
    parameters: [param("first_set", set, "the first set", { allowDynamic: true })],
    rest: param("other_sets", set, "the other sets", { allowDynamic: true }),
    returns: setTypeOf,
    call: (args, type) => {
      if (type.kind !== "set") return Value.unknown(type);
      const sets = args.map((value) => convert(value, type));
      if (!keepsUnknown && sets.some((value) => !value.isWhollyKnown)) return Value.unknown(type);
      return Value.set(combine(sets), type.element);
    },
  };
}

/** Elements of the first set that are, or are not, in the second. */
function select(elements: readonly Value[], other: Value, present: boolean): Value[] {
  return elements.filter((element) => hasElement(other, element).asBoolean() === present);
}

export const AGGREGATE_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "alltrue",
    category: "collection",
    description: "Whether all elements are true; of none they are.",
    parameters: [truths],
    returns: Type.bool,
    call: ([list = Value.dynamic]) => {
      let result = Value.true;
      for (const element of list.elements()) {
        if (element.isNull) return Value.false;
        result = and(result, element);
        if (result.isKnown && !result.asBoolean()) return Value.false;
      }
      return result;
    },
  },
  {
    name: "anytrue",
    category: "collection",
    description: "Whether one of the elements is true; of none it is not.",
    parameters: [truths],
    returns: Type.bool,
    call: ([list = Value.dynamic]) => {
      let result = Value.false;
      for (const element of list.elements()) {
        if (element.isNull) continue;
        result = or(result, element);
        if (result.isKnown && result.asBoolean()) return Value.true;
      }
      return result;
    },
  },
  {
    name: "coalesce",
    category: "collection",
    description: "The first of the values that is neither null nor an empty string.",
    parameters: [],
    rest: anyParam("vals", "the values", {
      allowUnknown: true,
      allowDynamic: true,
      allowNull: true,
    }),
    returns: (args) => {
      if (args.length === 0) invalidArgument("at least one argument is required");
      const unified = unify(
        args.map((value) => value.type),
        { unsafe: true },
      );
      if (unified === undefined) invalidArgument("all arguments must have the same type");
      return unified?.type ?? Type.dynamic;
    },
    call: (args, type) => {
      for (const given of args) {
        const value = convert(given, type);
        if (!value.isKnown) return Value.unknown(type);
        if (value.isNull) continue;
        if (type.kind === "string" && value.asString() === "") continue;
        return value;
      }
      return invalidArgument("no non-null, non-empty-string arguments");
    },
  },
  {
    name: "one",
    category: "collection",
    description: "The only element of a sequence, or null where it is empty.",
    parameters: [
      anyParam("list", "a list, set or tuple of at most one element", { allowUnknown: true }),
    ],
    returns: (args) => {
      const { type } = argument(args, 0);
      if (type.kind === "list" || type.kind === "set") return type.element;
      if (type.kind !== "tuple")
        return invalidArgument(
          "must be a list, set, or tuple value with either zero or one elements",
          0,
        );
      if (type.elements.length > 1)
        invalidArgument("must be a list, set, or tuple value with either zero or one elements", 0);
      return type.elements[0] ?? Type.dynamic;
    },
    nullable: true,
    call: ([list = Value.dynamic], type) => {
      if (!list.isKnown) return Value.unknown(type);
      if (list.type.kind === "set" && !list.isWhollyKnown && list.size > 1) {
        return Value.unknown(type);
      }
      if (list.size > 1)
        invalidArgument("must be a list, set, or tuple value with either zero or one elements", 0);
      return list.elements()[0] ?? Value.null(type);
    },
  },
  {
    name: "sum",
    category: "collection",
    description: "The sum of some numbers, at least one.",
    parameters: [anyParam("list", "a list, set or tuple of numbers")],
    returns: Type.number,
    call: (args) => sum(argument(args, 0)),
  },
  setOperation(
    "setunion",
    "The elements that are in any of the sets.",
    (sets) => sets.flatMap((set) => set.elements()),
    true,
  ),
  setOperation(
    "setintersection",
    "The elements that are in all of the sets.",
    ([first, ...others]) =>
      others.reduce((found, set) => select(found, set, true), first?.elements() ?? []),
    false,
  ),
  {
    name: "setsubtract",
    category: "collection",
    description: "The elements of the first set that are not in the second.",
    parameters: [
      param("a", Type.set(Type.dynamic), "the set to take from", { allowDynamic: true }),
      param("b", Type.set(Type.dynamic), "the elements to leave out", { allowDynamic: true }),
    ],
    returns: setTypeOf,
    call: ([a = Value.dynamic, b = Value.dynamic], type) => {
      if (type.kind !== "set") return Value.unknown(type);
      const [left, right] = [convert(a, type), convert(b, type)];
      if (!left.isWhollyKnown || !right.isWhollyKnown) return Value.unknown(type);
      return Value.set(select(left.elements(), right, false), type.element);
    },
  },
];
