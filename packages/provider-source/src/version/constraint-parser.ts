import { ProviderSourceError, quoteForMessage } from "../errors.ts";
import { type ConstraintOperator, VersionConstraint } from "./constraint.ts";
import { Version } from "./version.ts";

/** The command reads numbers of constraints as signed 64-bit integers. */
const MAX_NUMBER = 2n ** 63n - 1n;

const IDENTIFIERS = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const CONSTRAINT = new RegExp(
  `^(<=|>=|!=|~>|<|>|=|) ?([0-9]+)(?:\\.([0-9]+))?(?:\\.([0-9]+))?(?:-(${IDENTIFIERS}))?(?:\\+(${IDENTIFIERS}))?$`,
);

function problemOf(part: string): string {
  if (part === "") return "there is nothing between or beside the commas";
  const operator = /^[^0-9A-Za-z.*\s]*/.exec(part)?.[0] ?? "";
  const rest = part.slice(operator.length);
  switch (operator) {
    case "=>":
      return 'the operator "=>" does not exist; did you mean ">="?';
    case "=<":
      return 'the operator "=<" does not exist; did you mean "<="?';
    case "==":
      return 'the operator "==" does not exist; write "="';
    case "~":
    case "^":
    case "~=":
      return `the operator "${operator}" does not exist; "~> 1.2" allows 1.2 and all later 1.x, "~> 1.2.3" all later 1.2.x`;
    case "<>":
      return 'the operator "<>" does not exist; write "!="';
    case "":
    case "=":
    case "!=":
    case ">":
    case ">=":
    case "<":
    case "<=":
    case "~>":
      break;
    default:
      return `the operator ${quoteForMessage(operator)} does not exist`;
  }
  if (rest.trim() === "") return "the version behind the operator is missing";
  if (/^\s{2,}|^[\t\n\f\r]/.test(rest)) {
    return `at most one space may stand behind the operator "${operator}"`;
  }
  const version = rest.trim();
  if (/^v[0-9]/i.test(version)) return 'leave out the "v" in front of the version';
  if (/^[0-9]+(?:\.[0-9]+){3}/.test(version)) {
    return "it has more than three numbers; major, minor and patch are all there is";
  }
  if (/^(?:[0-9]+\.){0,2}[*xX](?:\.|$)/.test(version)) {
    return "wildcards are not supported; leave the number out";
  }
  if (/\|\|/.test(version)) return 'alternatives ("||") are not supported';
  if (/\s-\s/.test(version)) return 'ranges are written as ">= 1.0.0, < 2.0.0"';
  if (/\s/.test(version)) return "several constraints are separated by commas";
  return 'a constraint is an optional operator (= != > >= < <= ~>) and a version such as "1.2.3"';
}

/**
 * Reads comma-separated constraints as the command reads them in a template: each an optional
 * operator, at most one space, one to three numbers, an optional pre-release and build metadata;
 * white space around commas is free. `base` is where `text` starts in the input of the error.
 */
export function parseConstraintList(text: string): VersionConstraint[] {
  const constraints: VersionConstraint[] = [];
  let offset = 0;
  for (const raw of text.split(",")) {
    constraints.push(parseOne(text, raw, offset));
    offset += raw.length + 1;
  }
  return constraints;
}

function parseOne(input: string, raw: string, offset: number): VersionConstraint {
  const part = raw.replace(/^[\t\n\f\r ]+|(?<![\t\n\f\r ])[\t\n\f\r ]+$/g, "");
  const fail = (problem: string): never => {
    throw new ProviderSourceError(
      "PROVIDER_SOURCE_CONSTRAINT_INVALID",
      `Invalid version constraint ${quoteForMessage(input)}: ${part === "" ? "" : `in ${quoteForMessage(part)}, `}${problem}.`,
      { input, offset: offset + raw.indexOf(part) },
    );
  };
  const match = CONSTRAINT.exec(part) ?? fail(problemOf(part));
  const numbers = [match[2], match[3], match[4]].filter((number) => number !== undefined);
  const [major = 0n, minor = 0n, patch = 0n] = numbers.map((number) =>
    number.length > 40 || BigInt(number) > MAX_NUMBER
      ? fail("a number is larger than 63 bits")
      : BigInt(number),
  );
  const operator = (match[1] === "" ? "=" : match[1]) as ConstraintOperator;
  const prerelease = match[5] ?? "";
  const metadata = match[6] ?? "";
  const rises = operator !== "~>" ? "none" : numbers.length === 3 ? "patch" : "minor";
  return new VersionConstraint(
    operator,
    new Version(major, minor, patch, prerelease, metadata),
    rises,
  );
}
