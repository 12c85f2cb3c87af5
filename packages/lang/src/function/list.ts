import {
  compareStrings,
  convert,
  equal,
  Marks,
  Type,
  typeName,
  unify,
  Value,
} from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import {
  anyParam,
  argument,
  invalidArgument,
  listOf,
  numberParam,
  param,
  wholeNumber,
} from "./parameter.ts";
import { elementTypeOf, isIndexedType, isSequenceType, knownSize, sequenceOf } from "./sequence.ts";

const marked = { allowMarked: true } as const;

/** Most numbers that `range` makes. */
const MAX_RANGE = 1024;

function elementIndex(index: Value, size: number): number {
  const position = wholeNumber(index, 1);
  if (size === 0) invalidArgument("cannot use element function with an empty list", 0);
  if (position < 0) invalidArgument("the index must not be negative", 1);
  return position % size;
}

interface Flattened {
  readonly values: Value[];
  marks: Marks;
  known: boolean;
}

function flatten(value: Value, into: Flattened): void {
  const [plain, marks] = value.unmark();
  into.marks = into.marks.union(marks);
  if (knownSize(plain) === undefined) {
    into.known = false;
    return;
  }
  for (const element of plain.elements()) {
    if (element.type.kind === "dynamic" && !element.isNull) into.known = false;
    if (isSequenceType(element.type) && !element.isNull) flatten(element, into);
    else into.values.push(element);
  }
}

function flattened(value: Value): Flattened {
  const into: Flattened = { values: [], marks: Marks.none, known: true };
  flatten(value, into);
  return into;
}

/** Bounds of a slice; undefined ones are not known yet. */
function sliceBounds(args: readonly Value[]): { start?: number; end?: number } {
  const [list] = argument(args, 0).unmark();
  const size = list.type.kind === "tuple" ? list.type.elements.length : knownSize(list);
  const bound = (position: number, name: string): number | undefined => {
    const [value] = argument(args, position).unmark();
    if (!value.isKnown) return undefined;
    const index = wholeNumber(value, position);
    if (index < 0) invalidArgument(`${name} index must not be less than zero`, position);
    if (size !== undefined && index > size) {
      invalidArgument(`${name} index must not be greater than the length of the list`, position);
    }
    return index;
  };
  const start = bound(1, "start");
  const end = bound(2, "end");
  if (start !== undefined && end !== undefined && start > end) {
    invalidArgument("start index must not be greater than end index", 1);
  }
  return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
}

function concatType(args: readonly Value[]): Type {
  if (args.length === 0) invalidArgument("at least one argument is required");
  const lists = args.filter(({ type }) => type.kind === "list");
  if (lists.length === args.length) {
    const unified = unify(
      lists.map(({ type }) => (type.kind === "list" ? type.element : Type.dynamic)),
      { unsafe: true },
    );
    if (unified !== undefined) return Type.list(unified.type);
  }
  const types: Type[] = [];
  for (const [position, value] of args.entries()) {
    const { type } = value;
    if (type.kind === "tuple") {
      types.push(...type.elements);
    } else if (type.kind === "list") {
      if (!value.isKnown) return Type.dynamic;
      const [plain] = value.unmark();
      for (let index = 0; index < plain.size; index++) types.push(type.element);
    } else {
      invalidArgument(`all arguments must be lists or tuples; got ${typeName(type)}`, position);
    }
  }
  return Type.tuple(types);
}

function rangeNumbers(args: readonly Value[]): Value {
  const numbers = args.map((value) => value.asBigFloat());
  const zero = Value.zero.asBigFloat();
  const one = Value.number(1).asBigFloat();
  const [first = zero, second] = numbers;
  const start = second === undefined ? zero : first;
  const limit = second ?? first;
  const down = limit.compare(start) < 0;
  const step = numbers[2] ?? (down ? one.negate() : one);
  if (step.isZero) invalidArgument("step must not be zero", 2);
  if (down && step.sign > 0)
    invalidArgument("end is less than start, so the step must be negative", 2);
  if (!down && step.sign < 0)
    invalidArgument("end is not less than start, so the step must be positive", 2);
  const values: Value[] = [];
  for (let at = start; down ? at.compare(limit) > 0 : at.compare(limit) < 0; at = at.add(step)) {
    if (values.length >= MAX_RANGE) {
      invalidArgument(
        `more than ${MAX_RANGE} values were generated; decrease the difference or use a larger step`,
      );
    }
    values.push(Value.number(at));
  }
  return listOf(values, Type.number);
}

export const LIST_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "chunklist",
    category: "collection",
    description: "A list cut into lists of a size; the last may be shorter.",
    parameters: [
      param("list", Type.list(Type.dynamic), "the list to cut", marked),
      numberParam("size", "elements per piece; 0 makes one piece", marked),
    ],
    returns: (args) => Type.list(argument(args, 0).type),
    call: (args, type) => {
      const [list, listMarks] = argument(args, 0).unmark();
      const [sizeValue, sizeMarks] = argument(args, 1).unmark();
      const size = wholeNumber(sizeValue, 1);
      if (size < 0) invalidArgument("the size must not be negative", 1);
      const elements = list.elements();
      const chunks: Value[] = [];
      const step = size === 0 ? Math.max(elements.length, 1) : size;
      for (let at = 0; at < elements.length; at += step) {
        chunks.push(sequenceOf(elements.slice(at, at + step), list.type));
      }
      return sequenceOf(chunks, type).withMarks(listMarks.union(sizeMarks));
    },
  },
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
    name: "concat",
    category: "collection",
    description: "Lists or tuples one behind the other.",
    parameters: [],
    rest: anyParam("seqs", "the lists or tuples", marked),
    returns: concatType,
    call: (args, type) => {
      let marks = Marks.none;
      const element = type.kind === "list" ? type.element : undefined;
      const values = args.flatMap((given) => {
        const [plain, own] = given.unmark();
        marks = marks.union(own);
        const elements = plain.elements();
        return element === undefined ? elements : elements.map((value) => convert(value, element));
      });
      return sequenceOf(values, type).withMarks(marks);
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
    name: "element",
    category: "collection",
    description: "An element of a list or tuple by its index, which wraps around at the end.",
    parameters: [anyParam("list", "the list or tuple", marked), numberParam("index", "the index")],
    returns: (args) => {
      const { type } = argument(args, 0);
      const index = argument(args, 1);
      if (type.kind === "list") return type.element;
      if (type.kind !== "tuple") invalidArgument(`cannot read elements from ${typeName(type)}`, 0);
      if (!index.isKnown || type.kind !== "tuple") return Type.dynamic;
      return type.elements[elementIndex(index, type.elements.length)] ?? Type.dynamic;
    },
    nullable: true,
    call: (args, type) => {
      const [list, marks] = argument(args, 0).unmark();
      if (!list.isKnown) return Value.unknown(type).withMarks(marks);
      const position = elementIndex(argument(args, 1), list.size);
      return (list.elements()[position] ?? Value.dynamic).withMarks(marks);
    },
  },
  {
    name: "flatten",
    category: "collection",
    description:
      "A sequence with the elements of all sequences in it, at any depth, in their place.",
    parameters: [anyParam("list", "the list, set or tuple", marked)],
    returns: (args) => {
      const list = argument(args, 0);
      if (!isSequenceType(list.type)) {
        if (!list.isKnown) return Type.dynamic;
        invalidArgument("can only flatten lists, sets and tuples", 0);
      }
      if (!list.isWhollyKnown) return Type.dynamic;
      const { values, known } = flattened(list);
      return known ? Type.tuple(values.map((value) => value.type)) : Type.dynamic;
    },
    call: ([list = Value.dynamic], type) => {
      const { values, marks, known } = flattened(list);
      const result = known ? Value.tuple(values) : Value.unknown(type);
      return result.withMarks(marks);
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
    name: "range",
    category: "collection",
    description: "Numbers from a start to a limit, which is not among them, by a step.",
    parameters: [],
    rest: numberParam("params", "limit; or start and limit; or start, limit and step"),
    returns: Type.list(Type.number),
    call: (args) => {
      if (args.length === 0 || args.length > 3)
        invalidArgument("one, two or three numbers are required");
      return rangeNumbers(args);
    },
  },
  {
    name: "reverse",
    category: "collection",
    description: "The elements of a list or tuple backwards.",
    parameters: [anyParam("list", "the list or tuple", marked)],
    returns: (args) => {
      const { type } = argument(args, 0);
      if (type.kind === "tuple") return Type.tuple(type.elements.toReversed());
      if (type.kind === "list" || type.kind === "set") return Type.list(type.element);
      return invalidArgument(`can only reverse list or tuple values, not ${typeName(type)}`, 0);
    },
    call: (args, type) => {
      const [list, marks] = argument(args, 0).unmark();
      return sequenceOf(list.elements().toReversed(), type).withMarks(marks);
    },
  },
  {
    name: "slice",
    category: "collection",
    description: "The elements of a list from an index up to another, which is not included.",
    parameters: [
      anyParam("list", "the list or tuple", marked),
      numberParam("start_index", "index of the first element"),
      numberParam("end_index", "index behind the last element"),
    ],
    returns: (args) => {
      const { type } = argument(args, 0);
      if (type.kind === "set")
        invalidArgument("cannot slice a set, because its elements have no index", 0);
      if (!isIndexedType(type)) invalidArgument("must be a list or tuple value", 0);
      const { start, end } = sliceBounds(args);
      if (type.kind !== "tuple") return type;
      if (start === undefined || end === undefined) return Type.dynamic;
      return Type.tuple(type.elements.slice(start, end));
    },
    call: (args, type) => {
      const [list, marks] = argument(args, 0).unmark();
      const { start, end } = sliceBounds(args);
      return sequenceOf(list.elements().slice(start, end), type).withMarks(marks);
    },
  },
  {
    name: "sort",
    category: "collection",
    description: "Strings in the order of their code points.",
    parameters: [param("list", Type.list(Type.string), "the strings")],
    returns: Type.list(Type.string),
    call: ([list = Value.dynamic]) => {
      if (!list.isWhollyKnown) {
        // The order is not known, and how many there are is.
        const open = list.elements().map(() => Value.unknown(Type.string));
        return listOf(open, Type.string);
      }
      const strings = list.elements().map((value, position) => {
        if (value.isNull)
          invalidArgument(
            `given list element ${position} is null; a null string cannot be sorted`,
            0,
          );
        return value.asString();
      });
      return listOf(
        strings.sort(compareStrings).map((item) => Value.string(item)),
        Type.string,
      );
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
  {
    name: "setproduct",
    category: "collection",
    description: "All combinations of one element of each sequence.",
    parameters: [],
    rest: anyParam("sets", "the lists, tuples or sets, at least two", {
      allowMarked: true,
      allowUnknown: true,
    }),
    returns: (args) => {
      if (args.length < 2) invalidArgument("at least two arguments are required");
      const element = Type.tuple(args.map(({ type }, position) => elementTypeOf(type, position)));
      const ordered = args.every(({ type }) => isIndexedType(type));
      return ordered ? Type.list(element) : Type.set(element);
    },
    call: (args, type) => product(args, type),
  },
];

/** Most combinations that `setproduct` makes. */
const MAX_PRODUCT = 1_000_000;

function product(args: readonly Value[], type: Type): Value {
  const tuple = type.kind === "list" || type.kind === "set" ? type.element : type;
  let marks = Marks.none;
  let known = true;
  let total = 1;
  const columns = args.map((given, position) => {
    const [plain, own] = given.unmark();
    marks = marks.union(own);
    const size = knownSize(plain);
    known &&= size !== undefined;
    total *= size ?? 1;
    const element = tuple.kind === "tuple" ? tuple.elements[position] : undefined;
    if (size === undefined || element === undefined) return [];
    return plain.elements().map((value) => convert(value, element));
  });
  if (!known) return Value.unknown(type).withMarks(marks);
  if (total > MAX_PRODUCT) invalidArgument(`there would be more than ${MAX_PRODUCT} combinations`);
  let rows: Value[][] = [[]];
  for (const column of columns)
    rows = rows.flatMap((row) => column.map((value) => [...row, value]));
  return sequenceOf(
    rows.map((row) => Value.tuple(row)),
    type,
  ).withMarks(marks);
}

/** Values without repetitions, all of one type and wholly known; in linear time for primitive types. */
function firstOccurrences(values: readonly Value[], type: Type): Value[] {
  if (type.kind === "string" || type.kind === "number" || type.kind === "bool") {
    const seen = new Set<string | null>();
    return values.filter((value) => {
      const key = value.isNull ? null : convert(value, Type.string).asString();
      return seen.size < seen.add(key).size;
    });
  }
  const kept: Value[] = [];
  for (const value of values) {
    if (!kept.some((other) => equal(other, value).asBoolean())) kept.push(value);
  }
  return kept;
}
