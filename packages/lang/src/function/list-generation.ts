import { convert, Marks, Type, Value } from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import { anyParam, invalidArgument, listOf, numberParam } from "./parameter.ts";
import { elementTypeOf, isIndexedType, knownSize, sequenceOf } from "./sequence.ts";

/** Most numbers that `range` makes. */
const MAX_RANGE = 1024;

/** Most combinations that `setproduct` makes. */
const MAX_PRODUCT = 1_000_000;

/** Functions that make the elements of their result. */
export const LIST_GENERATION_FUNCTIONS: readonly LangFunction[] = [
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
