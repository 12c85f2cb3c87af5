import {
  convert,
  deepMarks,
  getAttribute,
  hasIndex,
  index,
  length,
  Marks,
  refine,
  Type,
  typeName,
  Value,
} from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import { graphemeCount } from "../syntax/grapheme.ts";
import { anyParam, argument, invalidArgument, listOf, param } from "./parameter.ts";
import { sequenceOf } from "./sequence.ts";

const marked = { allowMarked: true } as const;

function mergeType(args: readonly Value[]): Type {
  if (args.length === 0) return Type.emptyObject;
  const attributes = new Map<string, Type>();
  const types: Type[] = [];
  let attributesKnown = true;
  for (const [position, value] of args.entries()) {
    const { type } = value;
    const [plain] = value.unmark();
    if (type.kind === "dynamic" && plain.isNull) continue;
    // The element type of such a map may turn out to be that of the others; where there are no elements it does not matter.
    const isEmpty = plain.isKnown && (plain.isNull || plain.size === 0);
    const open = type.kind === "dynamic" || (type.kind === "map" && type.hasDynamic && !isEmpty);
    if (open) return Type.dynamic;
    if (type.kind === "object") {
      types.push(plain.isNull ? Type.emptyObject : type);
      if (!plain.isNull) for (const [name, of] of type.attributes()) attributes.set(name, of);
    } else if (type.kind === "map") {
      types.push(type);
      if (!plain.isKnown) attributesKnown = false;
      else if (!plain.isNull)
        for (const [key] of plain.entries()) attributes.set(key, type.element);
    } else {
      invalidArgument(`arguments must be maps or objects, got ${typeName(type)}`, position);
    }
  }
  const [first] = types;
  if (first !== undefined && types.every((type) => type.equals(first))) return first;
  return attributesKnown ? Type.object(attributes) : Type.dynamic;
}

function lookupType(args: readonly Value[]): Type {
  const { type } = argument(args, 0);
  const [key] = argument(args, 1).unmark();
  const fallback = args[2];
  if (type.kind === "map") {
    if (fallback !== undefined) {
      try {
        convert(fallback, type.element);
      } catch {
        invalidArgument("the default value must have the same type as the map elements", 2);
      }
    }
    return type.element;
  }
  if (type.kind !== "object") return invalidArgument("a map or object is required", 0);
  if (!key.isKnown) return Type.dynamic;
  const attribute = type.attribute(key.asString());
  if (attribute !== undefined) return attribute;
  return (
    fallback?.type ??
    invalidArgument(`the given object has no attribute ${JSON.stringify(key.asString())}`, 0)
  );
}

function zipType(args: readonly Value[]): Type {
  const { type } = argument(args, 1);
  if (type.kind === "list") return Type.map(type.element);
  if (type.kind !== "tuple")
    return invalidArgument("values argument must be a list or tuple value", 1);
  const [keys] = argument(args, 0).unmark();
  if (!keys.isWhollyKnown) return Type.dynamic;
  const names = keys.elements().map((key) => keyText(key));
  checkSameLength(names.length, type.elements.length);
  return Type.object(
    names.map((name, position) => [name, type.elements[position] ?? Type.dynamic] as const),
  );
}

function keyText(marked: Value): string {
  const [key] = marked.unmark();
  if (key.isNull) invalidArgument("a key must not be null", 0);
  return key.asString();
}

function checkSameLength(keys: number, values: number): void {
  if (keys === values) return;
  invalidArgument(`number of keys (${keys}) does not match number of values (${values})`);
}

export const MAP_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "keys",
    category: "collection",
    description: "The keys of a map or attribute names of an object, in the order of code points.",
    parameters: [anyParam("inputMap", "the map or object", { ...marked, allowUnknown: true })],
    returns: (args) => {
      const { type } = argument(args, 0);
      if (type.kind === "map") return Type.list(Type.string);
      if (type.kind === "object") return Type.tuple(type.names.map(() => Type.string));
      return invalidArgument("must have map or object type", 0);
    },
    call: (args, type) => {
      const [map, marks] = argument(args, 0).unmark();
      if (map.type.kind === "object") {
        return Value.tuple(map.type.names.map((item) => Value.string(item))).withMarks(marks);
      }
      if (!map.isKnown) return Value.unknown(type).withMarks(marks);
      return listOf(
        [...map.entries()].map(([key]) => Value.string(key)),
        Type.string,
      ).withMarks(marks);
    },
  },
  {
    name: "values",
    category: "collection",
    description: "The values of a map or object, in the order of their keys.",
    parameters: [anyParam("mapping", "the map or object", marked)],
    returns: (args) => {
      const { type } = argument(args, 0);
      if (type.kind === "map") return Type.list(type.element);
      if (type.kind === "object") return Type.tuple(type.types);
      return invalidArgument("a map or object is required", 0);
    },
    call: (args, type) => {
      const [map, marks] = argument(args, 0).unmark();
      return sequenceOf(map.elements(), type).withMarks(marks);
    },
  },
  {
    name: "lookup",
    category: "collection",
    description: "The element of a map with a key, or a default where there is none.",
    parameters: [
      anyParam("inputMap", "the map or object", marked),
      param("key", Type.string, "the key", marked),
    ],
    rest: anyParam("default", "what to give where the key is missing", {
      ...marked,
      allowNull: true,
      allowUnknown: true,
      allowDynamic: true,
    }),
    returns: (args) => {
      if (args.length > 3) invalidArgument("at most three arguments are possible");
      return lookupType(args);
    },
    nullable: true,
    call: (args, type) => {
      const [map, mapMarks] = argument(args, 0).unmark();
      const [key, keyMarks] = argument(args, 1).unmark();
      const marks = mapMarks.union(keyMarks);
      const name = key.asString();
      if (map.type.kind === "object" && map.type.has(name)) {
        return getAttribute(map, name).withMarks(marks);
      }
      if (map.type.kind === "map" && hasIndex(map, key).asBoolean()) {
        return index(map, key).withMarks(marks);
      }
      const fallback = args[2];
      if (fallback === undefined)
        return invalidArgument(`lookup failed to find key ${JSON.stringify(name)}`);
      return convert(fallback, type).withMarks(marks);
    },
  },
  {
    name: "merge",
    category: "collection",
    description: "Maps or objects as one; of equal keys the last one counts.",
    parameters: [],
    rest: anyParam("maps", "the maps or objects; null ones are skipped", {
      ...marked,
      allowDynamic: true,
      allowNull: true,
    }),
    returns: mergeType,
    call: (args, type) => {
      const entries = new Map<string, Value>();
      let marks = Marks.none;
      if (type.kind === "dynamic") {
        return Value.dynamic.withMarks(
          args.reduce((all, value) => all.union(deepMarks(value)), marks),
        );
      }
      for (const given of args) {
        const [plain, own] = given.unmark();
        marks = marks.union(own);
        if (!plain.isNull) for (const [key, value] of plain.entries()) entries.set(key, value);
      }
      const result = type.kind === "map" ? Value.map(entries, type.element) : Value.object(entries);
      return result.withMarks(marks);
    },
  },
  {
    name: "zipmap",
    category: "collection",
    description: "A map from a list of keys and a list of the values for them.",
    parameters: [
      param("keys", Type.list(Type.string), "the keys", marked),
      anyParam("values", "a list or tuple of the values", marked),
    ],
    returns: zipType,
    call: (args, type) => {
      const [keys, keyMarks] = argument(args, 0).unmark();
      const [values, valueMarks] = argument(args, 1).unmark();
      let marks = keyMarks.union(valueMarks);
      if (!keys.isWhollyKnown) {
        const all = deepMarks(keys).union(deepMarks(values));
        return Value.unknown(type).withMarks(marks.union(all));
      }
      const elements = values.elements();
      checkSameLength(keys.size, elements.length);
      const entries = new Map<string, Value>();
      for (const [position, key] of keys.elements().entries()) {
        marks = marks.union(key.marks);
        entries.set(keyText(key), elements[position] ?? Value.dynamic);
      }
      const result = type.kind === "map" ? Value.map(entries, type.element) : Value.object(entries);
      return result.withMarks(marks);
    },
  },
  {
    name: "transpose",
    category: "collection",
    description:
      "A map of lists of strings turned around: each string with the keys it stood under.",
    parameters: [param("values", Type.map(Type.list(Type.string)), "the map")],
    returns: Type.map(Type.list(Type.string)),
    call: ([map = Value.dynamic], type) => {
      if (!map.isWhollyKnown) return Value.unknown(type);
      const turned = new Map<string, Value[]>();
      for (const [key, list] of map.entries()) {
        if (list.isNull) invalidArgument("a list in the map is null", 0);
        for (const value of list.elements()) {
          if (value.isNull) invalidArgument("an element of a list in the map is null", 0);
          const keys = turned.get(value.asString());
          if (keys === undefined) turned.set(value.asString(), [Value.string(key)]);
          else keys.push(Value.string(key));
        }
      }
      const lists = [...turned].map(([key, keys]) => [key, listOf(keys, Type.string)] as const);
      return Value.map(lists, Type.list(Type.string));
    },
  },
  {
    name: "length",
    category: "collection",
    description:
      "The number of elements of a collection, or of characters (grapheme clusters) of a string.",
    parameters: [
      anyParam("value", "the collection or string", {
        ...marked,
        allowUnknown: true,
        allowDynamic: true,
      }),
    ],
    returns: (args) => {
      const { type } = argument(args, 0);
      const countable = ["string", "dynamic", "list", "set", "map", "tuple", "object"];
      if (!countable.includes(type.kind)) {
        invalidArgument("argument must be a string, a collection type, or a structural type", 0);
      }
      return Type.number;
    },
    call: (args) => lengthOf(argument(args, 0)),
  },
];

function lengthOf(marked: Value): Value {
  const [value, marks] = marked.unmark();
  if (value.type.kind === "dynamic") return Value.unknown(Type.number).withMarks(marks);
  if (value.type.kind !== "string") return length(marked);
  if (!value.isKnown) {
    const open = refine(Value.unknown(Type.number), { notNull: true, min: { value: 0 } });
    return open.withMarks(marks);
  }
  return Value.number(graphemeCount(value.asString())).withMarks(marks);
}
