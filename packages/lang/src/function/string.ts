import { rangeOf, Type, Value } from "@stackwright/cty";
import type { LangFunction, Parameter, ValueFunction } from "../eval/function.ts";
import type { FunctionHost } from "../eval/host.ts";
import { graphemes } from "../syntax/grapheme.ts";
import { trimSpaceLeft, trimSpaceRight } from "../syntax/template-space.ts";
import { toLower, toTitle, toUpper } from "./letter-case.ts";
import {
  invalidArgument,
  listOf,
  numberParam,
  param,
  text,
  textParam,
  wholeNumberParam,
} from "./parameter.ts";

const str = textParam("str", "the string");

/** A function of strings that makes a string. */
function textFunction(
  name: string,
  description: string,
  parameters: readonly Parameter[],
  call: (...args: string[]) => string,
): ValueFunction {
  return {
    name,
    category: "string",
    description,
    parameters,
    returns: Type.string,
    call: (args) => Value.string(call(...args.map((arg) => arg.asString()))),
  };
}

/** A question about two strings. */
function textQuestion(
  name: string,
  description: string,
  second: Parameter,
  call: (a: string, b: string) => boolean,
): ValueFunction {
  return {
    name,
    category: "string",
    description,
    parameters: [str, second],
    returns: Type.bool,
    call: (args) => Value.bool(call(text(args, 0), text(args, 1))),
  };
}

/** Without characters of a set at both ends. */
function trimSet(input: string, cutset: string): string {
  const cut = new Set(cutset);
  const chars = Array.from(input);
  const first = chars.findIndex((char) => !cut.has(char));
  const last = chars.findLastIndex((char) => !cut.has(char));
  return first === -1 ? "" : chars.slice(first, last + 1).join("");
}

function substr(input: string, offset: number, length: number): string {
  const parts = graphemes(input);
  const start = offset < 0 ? offset + parts.length : offset;
  if (start < 0) return length < 0 ? input : parts.slice(0, length).join("");
  return parts.slice(start, length < 0 ? undefined : start + length).join("");
}

function join(args: readonly Value[], host: FunctionHost): Value {
  const separator = text(args, 0);
  const lists = args.slice(1);
  if (lists.length === 0) invalidArgument("at least one list is required");
  if (lists.some((list) => !list.isWhollyKnown)) return Value.unknown(Type.string);
  const parts: string[] = [];
  let length = 0;
  for (const [number, list] of lists.entries()) {
    for (const [position, element] of list.elements().entries()) {
      if (element.isNull) {
        const which = lists.length === 1 ? "" : ` of list ${number + 1}`;
        invalidArgument(
          `element ${position}${which} is null; null values cannot be joined`,
          number + 1,
        );
      }
      parts.push(element.asString());
      length += separator.length + element.asString().length;
      if (length > host.maxStringLength) invalidArgument("the result is too long");
    }
  }
  return Value.string(parts.join(separator));
}

export const STRING_FUNCTIONS: readonly LangFunction[] = [
  textFunction("chomp", "The string without line endings at its end.", [str], (input) =>
    input.replace(/(?<![\r\n])[\r\n]+$/, ""),
  ),
  textFunction("lower", "The string in lower case.", [str], toLower),
  textFunction("upper", "The string in upper case.", [str], toUpper),
  textFunction(
    "title",
    "The string with the first letter of each word in upper case.",
    [str],
    toTitle,
  ),
  textFunction(
    "trim",
    "The string without the given characters at its beginning and end.",
    [str, textParam("cutset", "the characters to remove")],
    trimSet,
  ),
  textFunction(
    "trimprefix",
    "The string without a prefix, if it begins with it.",
    [str, textParam("prefix", "the prefix to remove")],
    (input, prefix) => (input.startsWith(prefix) ? input.slice(prefix.length) : input),
  ),
  textFunction(
    "trimsuffix",
    "The string without a suffix, if it ends with it.",
    [str, textParam("suffix", "the suffix to remove")],
    (input, suffix) =>
      input.endsWith(suffix) ? input.slice(0, input.length - suffix.length) : input,
  ),
  textFunction("trimspace", "The string without white space at both ends.", [str], (input) =>
    trimSpaceRight(trimSpaceLeft(input)),
  ),
  textFunction(
    "strrev",
    "The characters (grapheme clusters) of the string backwards.",
    [str],
    (input) => graphemes(input).toReversed().join(""),
  ),
  {
    name: "startswith",
    category: "string",
    description: "Whether a string begins with a prefix.",
    parameters: [{ ...str, allowUnknown: true }, textParam("prefix", "the prefix to look for")],
    returns: Type.bool,
    call: ([input, prefix]) => {
      if (input === undefined || prefix === undefined) return Value.unknown(Type.bool);
      const wanted = prefix.asString();
      if (input.isKnown) return Value.bool(input.asString().startsWith(wanted));
      // How an unknown string begins may be known, as of a template that begins with text.
      const { prefix: known } = rangeOf(input);
      if (known.startsWith(wanted)) return Value.bool(true);
      return wanted.startsWith(known) ? Value.unknown(Type.bool) : Value.bool(false);
    },
  },
  textQuestion(
    "endswith",
    "Whether a string ends with a suffix.",
    textParam("suffix", "the suffix to look for"),
    (input, suffix) => input.endsWith(suffix),
  ),
  textQuestion(
    "strcontains",
    "Whether a string contains another.",
    textParam("substr", "the string to look for"),
    (input, part) => input.includes(part),
  ),
  {
    name: "substr",
    category: "string",
    description: "A part of a string, counted in characters (grapheme clusters).",
    parameters: [
      str,
      numberParam("offset", "where the part begins; negative counts from the end"),
      numberParam("length", "how many characters; -1 takes the rest"),
    ],
    returns: Type.string,
    call: (args) =>
      Value.string(substr(text(args, 0), wholeNumberParam(args, 1), wholeNumberParam(args, 2))),
  },
  {
    name: "indent",
    category: "string",
    description: "The string with spaces in front of all lines but the first.",
    parameters: [numberParam("spaces", "how many spaces"), str],
    returns: Type.string,
    call: (args, _type, { maxStringLength }) => {
      const spaces = wholeNumberParam(args, 0);
      if (spaces < 0) invalidArgument("must not be negative", 0);
      const lines = text(args, 1).split("\n");
      if (spaces * lines.length > maxStringLength) invalidArgument("the result is too long", 0);
      return Value.string(lines.join(`\n${" ".repeat(spaces)}`));
    },
  },
  {
    name: "split",
    category: "string",
    description: "The parts of a string between the occurrences of a separator.",
    parameters: [
      textParam("separator", "what stands between the parts; empty splits characters"),
      str,
    ],
    returns: Type.list(Type.string),
    call: (args) => {
      const separator = text(args, 0);
      const input = text(args, 1);
      const parts = separator === "" ? Array.from(input) : input.split(separator);
      return listOf(
        parts.map((item) => Value.string(item)),
        Type.string,
      );
    },
  },
  {
    name: "join",
    category: "string",
    description: "The elements of lists as one string with a separator between them.",
    parameters: [textParam("separator", "what to put between the elements")],
    rest: param("lists", Type.list(Type.string), "the lists of strings"),
    returns: Type.string,
    call: (args, _type, host) => join(args, host),
  },
];
