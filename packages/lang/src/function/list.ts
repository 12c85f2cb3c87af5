import { append } from "@stackwright/base/append";
import { compareStrings, convert, Marks, Type, typeName, unify, Value } from "@stackwright/cty";
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
import { isIndexedType, isSequenceType, knownSize, sequenceOf } from "./sequence.ts";

const marked = { allowMarked: true } as const;

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
      append(types, type.elements);
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

/** Functions that cut, join and order lists. */
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
];
