import {
  CtyError,
  convert,
  deepMarks,
  describeMismatch,
  findConversion,
  Mark,
  Marks,
  Type,
  transform,
  typeName,
  unmarkDeep,
  Value,
} from "@stackwright/cty";
import type { LangFunction, ValueFunction } from "../eval/function.ts";
import { anyParam, argument, invalidArgument } from "./parameter.ts";

const anything = anyParam("v", "the value to convert", {
  allowNull: true,
  allowMarked: true,
  allowDynamic: true,
  allowUnknown: true,
});

function conversion(name: string, description: string, type: Type): ValueFunction {
  return {
    name,
    category: "type",
    description,
    parameters: [anything],
    returns: (args) => {
      const value = argument(args, 0);
      const given = value.type;
      const possible =
        given.equals(type) || findConversion(given, type, { unsafe: true }) !== undefined;
      if (possible) return type;
      // Parts whose type is open may turn out to fit.
      if (!value.hasWhollyKnownType) return Type.dynamic;
      return invalidArgument(cannotConvert(given, type), 0);
    },
    nullable: true,
    call: (args, returns) => {
      const value = argument(args, 0);
      if (returns.kind === "dynamic") return Value.dynamic.withMarks(deepMarks(value));
      try {
        return convert(value, type);
      } catch (error) {
        if (!(error instanceof CtyError)) throw error;
        if (!value.hasWhollyKnownType) return Value.dynamic.withMarks(deepMarks(value));
        return invalidArgument(conversionFailure(value, type, error), 0);
      }
    },
  };
}

function cannotConvert(given: Type, wanted: Type): string {
  const same = given.kind === wanted.kind && (given.kind === "tuple" || given.kind === "object");
  if (same)
    return `incompatible ${given.kind} type for conversion: ${describeMismatch(given, wanted)}`;
  return `cannot convert ${typeName(given)} to ${typeName(wanted, true)}`;
}

/** Why a value could not be converted. Marked values are not shown. */
function conversionFailure(marked: Value, type: Type, error: CtyError): string {
  const [value, marks] = unmarkDeep(marked);
  const wanted = typeName(type, true);
  for (const mark of [Mark.ephemeral, Mark.sensitive]) {
    if (marks.has(mark))
      return `cannot convert this ${mark.kind} ${typeName(value.type)} to ${wanted}`;
  }
  if (value.type.kind === "string" && !value.isNull) {
    const shown = JSON.stringify(value.asString());
    if (type.kind === "bool")
      return `cannot convert ${shown} to bool; only the strings "true" or "false" are allowed`;
    if (type.kind === "number")
      return `cannot convert ${shown} to number; given string must be a decimal representation of a number`;
  }
  return `cannot convert ${typeName(value.type)} to ${wanted}: ${error.message}`;
}

const markable = anyParam("value", "the value", {
  allowNull: true,
  allowMarked: true,
  allowDynamic: true,
  allowUnknown: true,
});

function without(marks: Marks, mark: Mark): Marks {
  return Marks.from([...marks].filter((other) => !other.equals(mark)));
}

export const CONVERSION_FUNCTIONS: readonly LangFunction[] = [
  conversion("tostring", "The value as a string.", Type.string),
  conversion("tonumber", "The value as a number.", Type.number),
  conversion("tobool", "The value as true or false.", Type.bool),
  conversion("tolist", "The elements as a list of one type.", Type.list(Type.dynamic)),
  conversion("toset", "The elements as a set of one type.", Type.set(Type.dynamic)),
  conversion("tomap", "The attributes as a map of one type.", Type.map(Type.dynamic)),
  {
    name: "sensitive",
    category: "type",
    description: "The value, marked as not to be shown.",
    parameters: [markable],
    returns: (args) => argument(args, 0).type,
    nullable: true,
    call: (args) => argument(args, 0).mark(Mark.sensitive),
  },
  {
    name: "nonsensitive",
    category: "type",
    description: "The value without its mark as sensitive.",
    parameters: [markable],
    returns: (args) => argument(args, 0).type,
    nullable: true,
    call: (args) => {
      const [plain, marks] = argument(args, 0).unmark();
      return plain.withMarks(without(marks, Mark.sensitive));
    },
  },
  {
    name: "issensitive",
    category: "type",
    description: "Whether the value is marked as sensitive.",
    parameters: [markable],
    returns: Type.bool,
    call: (args) => {
      const value = argument(args, 0);
      // What is unknown may carry marks of things it turns out not to be made of.
      if (!value.isKnown) return Value.unknown(Type.bool);
      return Value.bool(value.hasMark(Mark.sensitive));
    },
  },
  {
    name: "ephemeralasnull",
    category: "type",
    description: "The value with null in place of everything ephemeral in it.",
    parameters: [markable],
    returns: (args) => argument(args, 0).type,
    nullable: true,
    call: (args) =>
      transform(argument(args, 0), (_path, value) => {
        if (!value.hasMark(Mark.ephemeral)) return value;
        return Value.null(value.type).withMarks(without(value.marks, Mark.ephemeral));
      }),
  },
  {
    name: "list",
    category: "type",
    description: "Removed from the language: write the elements in brackets.",
    parameters: [],
    rest: anyParam("vals", "the elements", {
      allowNull: true,
      allowUnknown: true,
      allowDynamic: true,
    }),
    returns: () =>
      invalidArgument(
        'the "list" function was removed; write the elements in brackets, with tolist([...]) around them where a list is required',
      ),
    call: () => Value.dynamic,
  },
  {
    name: "map",
    category: "type",
    description: "Removed from the language: write the items in braces.",
    parameters: [],
    rest: anyParam("vals", "keys and values", {
      allowNull: true,
      allowUnknown: true,
      allowDynamic: true,
    }),
    returns: () =>
      invalidArgument(
        'the "map" function was removed; write the items in braces, with tomap({...}) around them where a map is required',
      ),
    call: () => Value.dynamic,
  },
];
