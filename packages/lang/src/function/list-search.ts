import { convert, equal, Type, unify, Value } from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import { anyParam, argument, invalidArgument, listOf, param } from "./parameter.ts";
import { isIndexedType, isSequenceType } from "./sequence.ts";

/** Functions that look for elements, or select some. */
export const LIST_SEARCH_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "compact",
    category: "collection",
    description: "A list of strings without null and empty ones.",
    parameters: [param("list", Type.list(Type.string), "the list of strings")],
    returns: Type.list(Type.string),
    call: ([list = Value.dynamic], type) => {
      if (!list.isWhollyKnown) return Value.unknown(type);
      const kept = list.elements().filter((value) => !value.isNull && value.asString() !== "");
      return listOf(kept, Type.string);
    },
  },
  {
    name: "contains",
    category: "collection",
    description:
      "Whether a list, tuple or set has an element equal to a value, without conversion.",
    parameters: [
      anyParam("list", "the list, tuple or set"),
      anyParam("value", "the value to look for"),
    ],
    returns: ([list]) => {
      if (list !== undefined && list.type.kind !== "dynamic" && !isSequenceType(list.type)) {
        invalidArgument("argument must be list, tuple, or set", 0);
      }
      return Type.bool;
    },
    call: ([list = Value.dynamic, wanted = Value.dynamic]) => {
      let open = false;
      for (const element of list.elements()) {
        const same = equal(wanted, element);
        if (!same.isKnown) open = true;
        else if (same.asBoolean()) return Value.true;
      }
      return open ? Value.unknown(Type.bool) : Value.false;
    },
  },
  {
    name: "distinct",
    category: "collection",
    description: "A list without repetitions, in the order of first occurrence.",
    parameters: [param("list", Type.list(Type.dynamic), "the list")],
    returns: (args) => argument(args, 0).type,
    call: ([list = Value.dynamic], type) => {
      if (!list.isWhollyKnown || type.kind !== "list") return Value.unknown(type);
      return listOf(firstOccurrences(list.elements(), type.element), type.element);
    },
  },
  {
    name: "index",
    category: "collection",
    description: "The index of the first element of a list that equals a value.",
    parameters: [anyParam("list", "the list or tuple"), anyParam("value", "the value to look for")],
    returns: Type.number,
    call: ([list = Value.dynamic, wanted = Value.dynamic]) => {
      if (!isIndexedType(list.type)) invalidArgument("argument must be a list or tuple", 0);
      if (list.size === 0) invalidArgument("cannot search an empty list", 0);
      for (const [position, element] of list.elements().entries()) {
        const same = equal(element, wanted);
        if (!same.isKnown) return Value.unknown(Type.number);
        if (same.asBoolean()) return Value.number(position);
      }
      return invalidArgument("item not found");
    },
  },
  {
    name: "matchkeys",
    category: "collection",
    description: "The values of a list whose counterparts in a second list are in a third.",
    parameters: [
      param("values", Type.list(Type.dynamic), "the values to choose from"),
      param("keys", Type.list(Type.dynamic), "a key for each value"),
      param("searchset", Type.list(Type.dynamic), "the keys whose values are wanted"),
    ],
    returns: (args) => {
      const [, keys, search] = args;
      const unified = unify([keys, search].map((list) => list?.type ?? Type.dynamic));
      if (unified === undefined) invalidArgument("keys and searchset must be of the same type");
      return argument(args, 0).type;
    },
    call: ([values = Value.dynamic, keys = Value.dynamic, search = Value.dynamic], type) => {
      if (type.kind !== "list") return Value.dynamic;
      if (values.size !== keys.size) invalidArgument("length of keys and values should be equal");
      const unified = unify([keys.type, search.type]);
      if (unified === undefined) return Value.unknown(type);
      const wanted = convert(search, unified.type).elements();
      const found: Value[] = [];
      for (const [position, key] of convert(keys, unified.type).elements().entries()) {
        for (const candidate of wanted) {
          const same = equal(key, candidate);
          if (!same.isKnown) return Value.unknown(type);
          if (!same.asBoolean()) continue;
          const value = values.elements()[position];
          if (value !== undefined) found.push(value);
          break;
        }
      }
      return listOf(found, type.element);
    },
  },
  {
    name: "coalescelist",
    category: "collection",
    description: "The first of the lists that is not empty.",
    parameters: [],
    rest: anyParam("vals", "the lists or tuples", {
      allowUnknown: true,
      allowDynamic: true,
      allowNull: true,
    }),
    returns: (args) => {
      if (args.length === 0) invalidArgument("at least one argument is required");
      for (const [position, value] of args.entries()) {
        if (!value.isKnown) return Type.dynamic;
        if (!isIndexedType(value.type)) invalidArgument("must be a list or tuple", position);
      }
      const { type } = argument(args, 0);
      return args.every((value) => value.type.equals(type)) ? type : Type.dynamic;
    },
    call: (args, type) => {
      for (const value of args) {
        if (!value.isKnown) return Value.unknown(type);
        if (!value.isNull && value.size > 0) return value;
      }
      return invalidArgument("no non-null arguments");
    },
  },
];

/** Values without repetitions, all of one type and wholly known; in linear time for primitive types. */
function firstOccurrences(values: readonly Value[], type: Type): Value[] {
  if (type.kind === "string" || type.kind === "number" || type.kind === "bool") {
    const seen = new Set<string | null>();
    return values.filter((value) => {
      const key = value.isNull ? null : convert(value, Type.string).asString();
      return seen.size < seen.add(key).size;
    });
  }
  const distinct: Value[] = [];
  for (const value of values) {
    if (!distinct.some((other) => equal(other, value).asBoolean())) distinct.push(value);
  }
  return distinct;
}
