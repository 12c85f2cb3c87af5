import { Type, Value } from "@stackwright/cty";
import { type Matcher, RE2JS, RE2JSException } from "re2js";
import type { LangFunction } from "../eval/function.ts";
import { invalidArgument, listOf, text, textParam } from "./parameter.ts";

/*
 * Regular expressions with the syntax and the guarantees of RE2: matching takes time linear in the
 * text, for every pattern. Without look-around and back-references there is nothing to track
 * back for.
 */

/** Longest pattern, in UTF-16 units, so that compiling it stays cheap. */
const MAX_PATTERN = 4096;

/** A pattern that was compiled, and the names of its capture groups in order; undefined for groups without one. */
interface Compiled {
  readonly program: RE2JS;
  readonly names: readonly (string | undefined)[];
}

function compile(pattern: string, position: number): Compiled {
  if (pattern.length > MAX_PATTERN)
    invalidArgument(`a pattern may have ${MAX_PATTERN} characters`, position);
  try {
    const { text: plain, names } = withUniqueNames(pattern);
    const program = RE2JS.compile(plain);
    const own = groupNames(program).map((name) =>
      name === undefined ? name : (names.get(name) ?? name),
    );
    return { program, names: own };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return invalidArgument(`invalid regular expression pattern: ${error.message}`, position);
  }
}

const GROUP_OR_SKIPPED =
  /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:[a-z^]+:\]|[^\]\\])*\]|\(\?P?<([A-Za-z0-9_]+)>/g;

/** The pattern with other names for groups whose name an earlier one has, and what those stand for. */
function withUniqueNames(pattern: string): { text: string; names: ReadonlyMap<string, string> } {
  const seen = new Set(Array.from(pattern.matchAll(GROUP_OR_SKIPPED), ([, name]) => name));
  const used = new Set<string>();
  const names = new Map<string, string>();
  const unique = pattern.replace(GROUP_OR_SKIPPED, (whole: string, name: string | undefined) => {
    if (name === undefined || used.size < used.add(name).size) return whole;
    let other = `${name}_`;
    while (seen.has(other)) other += "_";
    seen.add(other);
    names.set(other, name);
    return `(?P<${other}>`;
  });
  return { text: unique, names };
}

/** Names of the capture groups in order; undefined for groups without one. */
function groupNames(pattern: RE2JS): (string | undefined)[] {
  const names: (string | undefined)[] = Array.from({ length: pattern.groupCount() });
  for (const [name, position] of Object.entries(pattern.namedGroups())) names[position - 1] = name;
  return names;
}

/** What a match is: the text, or its groups as a tuple, or by name as an object. */
function resultType(names: readonly (string | undefined)[], position: number): Type {
  if (names.length === 0) return Type.string;
  const named = names.filter((name) => name !== undefined);
  if (named.length === 0) return Type.tuple(names.map(() => Type.string));
  if (named.length < names.length) {
    return invalidArgument("a pattern cannot have both groups with and without a name", position);
  }
  return Type.object(new Map(named.map((name) => [name, Type.string] as const)));
}

function matchValue(matcher: Matcher, names: readonly (string | undefined)[]): Value {
  if (names.length === 0) return Value.string(matcher.group() ?? "");
  const groups = names.map((_, index) => groupValue(matcher, index + 1));
  if (names[0] === undefined) return Value.tuple(groups);
  // Of groups with one name the last counts, whether it took part in the match or not.
  return Value.object(
    new Map(names.map((name, index) => [name ?? "", groups[index] ?? Value.dynamic] as const)),
  );
}

/** The text of a group, or null where it took no part in the match. */
function groupValue(matcher: Matcher, group: number): Value {
  const found = matcher.group(group);
  return found === null || found === undefined ? Value.null(Type.string) : Value.string(found);
}

function patternType(pattern: Value | undefined): Type {
  if (pattern === undefined || !pattern.isKnown) return Type.dynamic;
  return resultType(compile(pattern.asString(), 0).names, 0);
}

const pattern = textParam("pattern", "the regular expression, in the syntax of RE2", {
  allowUnknown: false,
});

/** Replaces `$1`, `$name` and `${name}` by the groups of a match; `$$` is a dollar sign. */
function expand(
  template: string,
  matcher: Matcher,
  names: readonly (string | undefined)[],
): string {
  return template.replace(
    /\$(?:\$|\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))/g,
    (whole: string, braced?: string, bare?: string) => {
      if (whole === "$$") return "$";
      const name = braced ?? bare ?? "";
      const named = names.findIndex(
        (own, index) => own === name && typeof matcher.group(index + 1) === "string",
      );
      const group = /^[0-9]+$/.test(name) ? Number(name) : named + 1;
      if (group > names.length || (group === 0 && name !== "0")) return "";
      return matcher.group(group) ?? "";
    },
  );
}

/** All matches in order. An empty one directly behind another match is none of its own. */
function* matches(matcher: Matcher): Generator<Matcher> {
  let previousEnd = -1;
  while (matcher.find()) {
    const empty = matcher.start() === matcher.end();
    if (!(empty && matcher.start() === previousEnd)) yield matcher;
    previousEnd = matcher.end();
  }
}

function replaceMatches(
  input: string,
  source: string,
  replacement: string,
  maxLength: number,
): string {
  const { program, names } = compile(source, 1);
  let out = "";
  let at = 0;
  for (const match of matches(program.matcher(input))) {
    out += input.slice(at, match.start()) + expand(replacement, match, names);
    at = match.end();
    if (out.length > maxLength) invalidArgument("the result is too long");
  }
  return out + input.slice(at);
}

/** Every occurrence; an empty text occurs in front of every character and at the end. */
function replaceText(
  input: string,
  search: string,
  replacement: string,
  maxLength: number,
): string {
  const parts = search === "" ? ["", ...Array.from(input), ""] : input.split(search);
  const kept = parts.reduce((sum, part) => sum + part.length, 0);
  if (kept + (parts.length - 1) * replacement.length > maxLength)
    invalidArgument("the result is too long");
  return parts.join(replacement);
}

export const REGULAR_EXPRESSION_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "regex",
    category: "string",
    description: "What a regular expression matches first: the text, or its groups.",
    parameters: [pattern, textParam("string", "the text to search")],
    returns: ([source]) => patternType(source),
    call: (args) => {
      const { program, names } = compile(text(args, 0), 0);
      const matcher = program.matcher(text(args, 1));
      if (!matcher.find())
        invalidArgument("the pattern does not match any part of the given string");
      return matchValue(matcher, names);
    },
  },
  {
    name: "regexall",
    category: "string",
    description: "All matches of a regular expression, one behind the other.",
    parameters: [pattern, textParam("string", "the text to search")],
    returns: ([source]) => {
      const type = patternType(source);
      return Type.list(type);
    },
    call: (args) => {
      const { program, names } = compile(text(args, 0), 0);
      const matcher = program.matcher(text(args, 1));
      const found = Array.from(matches(matcher), (match) => matchValue(match, names));
      return listOf(found, resultType(names, 0));
    },
  },
  {
    name: "replace",
    category: "string",
    description:
      "The string with all occurrences of a substring, or of a regular expression in slashes, replaced.",
    parameters: [
      textParam("str", "the string"),
      textParam("substr", "what to replace; a regular expression if it stands in slashes"),
      textParam("replace", "what to put there; $1 and ${name} are groups of the expression"),
    ],
    returns: Type.string,
    call: (args, _type, { maxStringLength }) => {
      const [input, search, replacement] = [text(args, 0), text(args, 1), text(args, 2)];
      const isPattern = search.length > 1 && search.startsWith("/") && search.endsWith("/");
      const result = isPattern
        ? replaceMatches(input, search.slice(1, -1), replacement, maxStringLength)
        : replaceText(input, search, replacement, maxStringLength);
      return Value.string(result);
    },
  },
];
