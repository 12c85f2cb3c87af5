import {
  CtyError,
  convert,
  equal,
  type Refinements,
  refine,
  Type,
  typeName,
  type Value,
} from "@stackwright/cty";
import type { LangFunction, Parameter, ValueFunction } from "../eval/function.ts";
import {
  anyParam,
  argument,
  invalidArgument,
  numberParam,
  param,
  text,
  textParam,
  wholeNumberParam,
} from "./parameter.ts";

const open = { allowNull: true, allowUnknown: true, allowDynamic: true } as const;

/** States something about a value that may be unknown; fails once it turns out wrong. */
function assumption(
  name: string,
  description: string,
  type: Type,
  parameters: readonly Parameter[],
  statements: (args: readonly Value[]) => Refinements,
): ValueFunction {
  return {
    name,
    category: "type",
    dialect: "opentofu",
    description,
    parameters: [param("value", type, "the value to state it about", open), ...parameters],
    returns: (args) => argument(args, 0).type,
    nullable: true,
    call: (args) => {
      const value = argument(args, 0);
      if (value.type.kind === "dynamic" && !value.isKnown) {
        invalidArgument(
          'the type of the value is not known yet; the function "convert" can state it',
          0,
        );
      }
      try {
        return refine(value, statements(args));
      } catch (error) {
        if (!(error instanceof CtyError)) throw error;
        return invalidArgument("assumption was not upheld", 0);
      }
    },
  };
}

function lengths(kind: "list" | "set" | "map"): ValueFunction[] {
  const type = Type[kind](Type.dynamic);
  const least = numberParam("min_length", "the smallest possible length");
  const most = numberParam("max_length", "the largest possible length");
  const bound = (args: readonly Value[], position: number): number => {
    const size = wholeNumberParam(args, position);
    if (size < 0) invalidArgument("must not be negative", position);
    return size;
  };
  return [
    assumption(
      `assume${kind}length`,
      `The ${kind}, stated to have a length within bounds.`,
      type,
      [least, most],
      (args) => ({
        minLength: bound(args, 1),
        maxLength: bound(args, 2),
      }),
    ),
    assumption(
      `assume${kind}lengthmin`,
      `The ${kind}, stated to have a length of at least a number.`,
      type,
      [least],
      (args) => ({
        minLength: bound(args, 1),
      }),
    ),
    assumption(
      `assume${kind}lengthmax`,
      `The ${kind}, stated to have a length of at most a number.`,
      type,
      [most],
      (args) => ({
        maxLength: bound(args, 1),
      }),
    ),
  ];
}

export const ASSUMPTION_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "assumeequal",
    category: "type",
    dialect: "opentofu",
    description: "The second value; fails once the first turns out to be different.",
    parameters: [
      anyParam("actual_value", "the value to state it about", open),
      anyParam("expected_value", "what it is stated to be", open),
    ],
    returns: (args) => argument(args, 1).type,
    nullable: true,
    call: (args) => {
      const expected = argument(args, 1);
      let actual = argument(args, 0);
      try {
        actual = convert(actual, expected.type);
      } catch (error) {
        if (!(error instanceof CtyError)) throw error;
        const types = `${typeName(actual.type)} does not match assumed value type ${typeName(expected.type)}`;
        invalidArgument(`actual value type ${types}`, 0);
      }
      const same = equal(actual, expected);
      if (same.isKnown && !same.asBoolean())
        invalidArgument("the actual value does not match the assumed value", 0);
      return expected;
    },
  },
  assumption("assumenotnull", "The value, stated never to be null.", Type.dynamic, [], () => ({
    notNull: true,
  })),
  assumption(
    "assumestringprefix",
    "The string, stated to begin with a text.",
    Type.string,
    [textParam("prefix", "how the string begins")],
    (args) => {
      const value = argument(args, 0);
      const prefix = text(args, 1);
      // Refinements leave out the last character, which what follows may combine with.
      if (value.isKnown && !value.isNull && !value.asString().startsWith(prefix)) {
        invalidArgument("assumption was not upheld", 0);
      }
      return { prefix };
    },
  ),
  ...lengths("list"),
  ...lengths("set"),
  ...lengths("map"),
];
