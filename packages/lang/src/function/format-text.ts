import {
  BigFloat,
  CtyError,
  convert,
  encodeJson,
  refine,
  refineNotNull,
  Type,
  Value,
} from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import type { FunctionHost } from "../eval/host.ts";
import { graphemeCount, graphemePrefixLength } from "../syntax/grapheme.ts";
import { anyParam, argument, invalidArgument, listOf, text, textParam } from "./parameter.ts";
import { isSequenceType, knownSize } from "./sequence.ts";

/** `%`, flags, width, precision, `[argument]`, verb. */
const VERB = /%(?:%|([0#\-+ ]*)([1-9][0-9]*)?(?:\.([0-9]*))?(?:\[([1-9][0-9]*)\])?([A-Za-z]))/y;

interface Verb {
  readonly raw: string;
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  readonly mode: string;
}

/** Widest padding and highest precision of one verb. */
const MAX_WIDTH = 100_000;

/** Formats known values. */
function formatText(format: string, args: readonly Value[], host: FunctionHost): string {
  let out = "";
  let at = 0;
  let next = 0;
  let used = 0;
  while (at < format.length) {
    const percent = format.indexOf("%", at);
    if (percent === -1) {
      out += format.slice(at);
      break;
    }
    out += format.slice(at, percent);
    VERB.lastIndex = percent;
    const match = VERB.exec(format);
    if (match === null)
      return invalidArgument(`invalid format string starting at offset ${percent}`, 0);
    at = VERB.lastIndex;
    const [raw, flags = "", width, precision, position, mode] = match;
    if (mode === undefined) {
      out += "%";
      continue;
    }
    const verb: Verb = {
      raw,
      flags,
      width: width === undefined ? undefined : bounded(Number(width)),
      precision: precision === undefined ? undefined : bounded(Number(precision)),
      mode,
    };
    const index = position === undefined ? next : Number(position) - 1;
    const value = args[index];
    if (value === undefined) {
      const have = `need index ${index + 1} but have ${args.length} total`;
      return invalidArgument(`not enough arguments for "${raw}": ${have}`);
    }
    used = Math.max(used, index + 1);
    next = index + 1;
    out += formatVerb(verb, value);
    if (out.length > host.maxStringLength) invalidArgument("the result is too long");
  }
  if (used < args.length) {
    const what = used === 0 ? "no verbs in format string" : `only ${used} used by format string`;
    invalidArgument(`too many arguments; ${what}`, used + 1);
  }
  return out;
}

function bounded(size: number): number {
  if (size > MAX_WIDTH) invalidArgument(`widths and precisions may be at most ${MAX_WIDTH}`, 0);
  return size;
}

function formatVerb(verb: Verb, value: Value): string {
  if (verb.mode !== "v" && value.isNull) {
    return invalidArgument(`unsupported value for "${verb.raw}": null value cannot be formatted`);
  }
  switch (verb.mode) {
    case "v":
      return pad(verb, asIs(verb, value));
    case "t":
      return String(converted(verb, value, Type.bool).asBoolean());
    case "b":
    case "d":
    case "o":
    case "x":
    case "X":
      return formatInteger(verb, converted(verb, value, Type.number).asBigFloat());
    case "e":
    case "E":
    case "f":
    case "g":
    case "G":
      return formatFraction(verb, converted(verb, value, Type.number).asBigFloat());
    case "s":
      return pad(verb, cut(verb, converted(verb, value, Type.string).asString()));
    case "q": {
      const quoted = cut(verb, converted(verb, value, Type.string).asString());
      return pad(verb, encodeJson(Value.string(quoted)));
    }
    default:
      return invalidArgument(`unsupported format verb "${verb.mode}" in "${verb.raw}"`, 0);
  }
}

function converted(verb: Verb, value: Value, type: Type): Value {
  try {
    return convert(value, type);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return invalidArgument(`unsupported value for "${verb.raw}": ${error.message}`);
  }
}

/** Strings and numbers as themselves, everything else (and all with the flag #) as JSON. */
function asIs({ flags }: Verb, value: Value): string {
  if (!flags.includes("#") && !value.isNull) {
    if (value.type.kind === "string") return value.asString();
    if (value.type.kind === "number") return value.asBigFloat().text("g");
  }
  return encodeJson(value);
}

function cut({ precision }: Verb, value: string): string {
  if (precision === undefined || precision === 0) return value;
  return value.slice(0, graphemePrefixLength(value, precision));
}

function pad({ flags, width }: Verb, value: string): string {
  const missing = (width ?? 0) - graphemeCount(value);
  if (missing <= 0) return value;
  const fill = (flags.includes("0") ? "0" : " ").repeat(missing);
  return flags.includes("-") ? value + fill : fill + value;
}

const BASES: Readonly<Record<string, number | undefined>> = { b: 2, o: 8, x: 16, X: 16 };
const PREFIXES: Readonly<Record<string, string | undefined>> = {
  b: "0b",
  o: "0",
  x: "0x",
  X: "0X",
};

function formatInteger(verb: Verb, value: BigFloat): string {
  if (!value.isInteger)
    invalidArgument(`unsupported value for "${verb.raw}": an integer is required`);
  const number = value.truncate();
  const magnitude = number < 0n ? -number : number;
  let digits = magnitude.toString(BASES[verb.mode] ?? 10);
  if (verb.mode === "X") digits = digits.toUpperCase();
  digits = digits.padStart(verb.precision ?? 0, "0");
  if (verb.precision === 0 && magnitude === 0n) digits = "";
  const prefix = verb.flags.includes("#") ? (PREFIXES[verb.mode] ?? "") : "";
  return padNumber(verb, signOf(verb, number < 0n) + prefix, digits, verb.precision === undefined);
}

function signOf({ flags }: Verb, negative: boolean): string {
  if (negative) return "-";
  if (flags.includes("+")) return "+";
  return flags.includes(" ") ? " " : "";
}

function formatFraction(verb: Verb, value: BigFloat): string {
  const infinite =
    value.compare(BigFloat.positiveInfinity) === 0 ||
    value.compare(BigFloat.negativeInfinity) === 0;
  if (infinite) {
    const sign = value.sign < 0 ? "-" : verb.flags.includes(" ") ? " " : "+";
    return padNumber(verb, sign, "Inf", false);
  }
  const mode = verb.mode.toLowerCase();
  const absolute = value.absolute();
  let digits: string;
  if (mode === "g") digits = absolute.text("g", verb.precision);
  else digits = absolute.text(mode === "e" ? "e" : "f", verb.precision ?? 6);
  if (verb.mode !== mode) digits = digits.toUpperCase();
  return padNumber(verb, signOf(verb, value.sign < 0), digits, true);
}

/** Zeros go between sign and digits, spaces in front of or behind both. */
function padNumber(verb: Verb, sign: string, digits: string, allowZeros: boolean): string {
  const missing = (verb.width ?? 0) - sign.length - digits.length;
  if (missing <= 0) return sign + digits;
  if (verb.flags.includes("-")) return sign + digits + " ".repeat(missing);
  if (verb.flags.includes("0") && allowZeros) return sign + "0".repeat(missing) + digits;
  return " ".repeat(missing) + sign + digits;
}

const values = anyParam("args", "the values to put in", {
  allowNull: true,
  allowUnknown: true,
  allowDynamic: true,
});
const formatParam = textParam("format", "the text with a verb such as %s for each value");

const UNKNOWN_TEXT = refineNotNull(Value.unknown(Type.string));

function formatList(args: readonly Value[], type: Type, host: FunctionHost): Value {
  const format = text(args, 0);
  const given = args.slice(1);
  let size: number | undefined;
  let sizeFrom = 0;
  let known = true;
  for (const [position, value] of given.entries()) {
    if (value.type.kind === "dynamic" && !value.isNull) known = false;
    if (!isSequenceType(value.type) || value.isNull) continue;
    const own = value.type.kind === "tuple" ? value.type.elements.length : knownSize(value);
    if (own !== undefined && size !== undefined && own !== size) {
      const other = `argument ${sizeFrom + 1} of length ${size}`;
      invalidArgument(
        `argument ${position + 1} has length ${own}, which is inconsistent with ${other}`,
        position + 1,
      );
    }
    if (own !== undefined && size === undefined) [size, sizeFrom] = [own, position];
    known &&= value.isKnown && own !== undefined;
  }
  if (!known) return Value.unknown(type);
  const columns = given.map((value) =>
    isSequenceType(value.type) && !value.isNull ? value.elements() : undefined,
  );
  const results = Array.from({ length: size ?? 1 }, (_, row) => {
    const cells = given.map((value, position) => columns[position]?.[row] ?? value);
    if (cells.some((cell) => !cell.isWhollyKnown)) return UNKNOWN_TEXT;
    return Value.string(formatText(format, cells, host));
  });
  return listOf(results, Type.string);
}

export const FORMAT_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "format",
    category: "string",
    description: "Text with values put in where verbs such as %s and %05.2f stand.",
    parameters: [formatParam],
    rest: values,
    returns: Type.string,
    call: (args, _type, host) => {
      const format = text(args, 0);
      const given = args.slice(1);
      if (given.every((value) => value.isWhollyKnown)) {
        return Value.string(formatText(format, given, host));
      }
      const prefix = format.slice(0, Math.max(0, format.indexOf("%")));
      return prefix === "" ? UNKNOWN_TEXT : refine(UNKNOWN_TEXT, { prefix });
    },
  },
  {
    name: "formatlist",
    category: "string",
    description: "A list of texts: one per element of the lists among the values.",
    parameters: [formatParam],
    rest: values,
    returns: Type.list(Type.string),
    call: (args, type, host) => formatList([argument(args, 0), ...args.slice(1)], type, host),
  },
];
