import { absolute, BigFloat, greaterThan, lessThan, Type, Value } from "@stackwright/cty";
import type { LangFunction, ValueFunction } from "../eval/function.ts";
import {
  anyParam,
  argument,
  invalidArgument,
  numberParam,
  text,
  wholeNumberParam,
} from "./parameter.ts";

const number = numberParam("number", "the number");

/** A function of one number. */
function unary(name: string, description: string, call: (value: Value) => Value): ValueFunction {
  return {
    name,
    category: "numeric",
    description,
    parameters: [number],
    returns: Type.number,
    call: (args) => call(argument(args, 0)),
  };
}

function fromDouble(result: number): Value {
  if (Number.isNaN(result)) invalidArgument("the result is not a number");
  return Value.number(result);
}

/** Rounds to a whole number; infinities stay. */
function round(value: Value, up: boolean): Value {
  const exact = value.asBigFloat();
  if (exact.isInteger || isInfinite(exact)) return value;
  const truncated = exact.truncate();
  if (up) return Value.number(exact.sign > 0 ? truncated + 1n : truncated);
  return Value.number(exact.sign < 0 ? truncated - 1n : truncated);
}

function isInfinite(value: BigFloat): boolean {
  return (
    value.compare(BigFloat.positiveInfinity) === 0 || value.compare(BigFloat.negativeInfinity) === 0
  );
}

/** The extreme of some numbers, by a comparison that says whether the first is to be preferred. */
function extreme(
  name: "max" | "min",
  description: string,
  prefer: (a: Value, b: Value) => Value,
): ValueFunction {
  return {
    name,
    category: "numeric",
    description,
    parameters: [],
    rest: numberParam("numbers", "the numbers to compare, at least one"),
    returns: Type.number,
    call: (args) => {
      if (args.length === 0) invalidArgument("at least one number is required");
      return args.reduce((best, value) => (prefer(value, best).asBoolean() ? value : best));
    },
  };
}

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The whole number that digits of a base say; undefined where they are none. */
function parseDigits(digits: string, base: number): bigint | undefined {
  const match = /^([+-]?)([0-9A-Za-z]+)$/.exec(digits);
  if (match === null) return undefined;
  const [, sign, body = ""] = match;
  const wanted = base <= 36 ? body.toLowerCase() : body;
  let value = 0n;
  for (const digit of wanted) {
    const position = DIGITS.indexOf(digit);
    if (position >= base) return undefined;
    value = value * BigInt(base) + BigInt(position);
  }
  return sign === "-" ? -value : value;
}

export const NUMERIC_FUNCTIONS: readonly LangFunction[] = [
  unary("abs", "The number without its sign.", absolute),
  unary("ceil", "The smallest whole number that is not less than the number.", (value) =>
    round(value, true),
  ),
  unary("floor", "The largest whole number that is not greater than the number.", (value) =>
    round(value, false),
  ),
  {
    name: "log",
    category: "numeric",
    description: "The logarithm of a number to a base, with the precision of a double.",
    parameters: [number, numberParam("base", "the base of the logarithm")],
    returns: Type.number,
    call: (args) =>
      fromDouble(Math.log(argument(args, 0).asNumber()) / Math.log(argument(args, 1).asNumber())),
  },
  extreme("max", "The greatest of the numbers.", greaterThan),
  extreme("min", "The smallest of the numbers.", lessThan),
  {
    name: "parseint",
    category: "numeric",
    description: "The whole number that a text says in a base.",
    parameters: [
      anyParam("number", "digits, with a sign in front if need be"),
      numberParam("base", "the base, from 2 to 62"),
    ],
    returns: ([digits]) => {
      if (digits !== undefined && digits.type.kind !== "string")
        invalidArgument("must be a string", 0);
      return Type.number;
    },
    call: (args) => {
      const base = wholeNumberParam(args, 1);
      if (base < 2 || base > 62) invalidArgument("the base must be between 2 and 62", 1);
      const digits = text(args, 0);
      if (digits.length > 10_000) invalidArgument("there are too many digits", 0);
      const value = parseDigits(digits, base);
      if (value === undefined) invalidArgument(`this is not a whole number in base ${base}`, 0);
      return Value.number(value ?? 0n);
    },
  },
  {
    name: "pow",
    category: "numeric",
    description: "A number raised to a power, with the precision of a double.",
    parameters: [number, numberParam("power", "the exponent")],
    returns: Type.number,
    call: (args) => fromDouble(argument(args, 0).asNumber() ** argument(args, 1).asNumber()),
  },
  {
    name: "signum",
    category: "numeric",
    description: "-1, 0 or 1 for the sign of a whole number.",
    parameters: [number],
    returns: Type.number,
    call: (args) => {
      const value = argument(args, 0).asBigFloat();
      if (!value.isInteger) invalidArgument("a whole number is required", 0);
      return Value.number(value.sign);
    },
  },
];
