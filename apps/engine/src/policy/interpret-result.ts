import { MAX_FINDING_TEXT, MAX_FINDINGS, MAX_MESSAGE } from "./policy-limits.ts";

/** One thing that a policy says about a plan. */
interface Finding {
  /** The rule, such as `stackwright/deny`. */
  readonly rule: string;
  readonly message: string;
  /** The object that it is about; empty for the whole plan. */
  readonly address: string;
  readonly isWarning: boolean;
}

/** What came out of the entry points of a set. */
export interface Findings {
  readonly findings: readonly Finding[];
  /** Findings beyond the bounds. */
  readonly cut: number;
  /** Whether one of all findings forbids the plan. */
  readonly isForbidden: boolean;
}

/** Members of a package that say something, and whether that forbids a plan. */
const RULES: Readonly<Record<string, "forbids" | "warns" | "allows">> = {
  deny: "forbids",
  violation: "forbids",
  warn: "warns",
  allow: "allows",
};

/** The document that an entry point gave; `undefined` where it is undefined for the input. */
interface Answer {
  readonly entrypoint: string;
  readonly value: unknown;
}

/**
 * Reads what entry points gave: the rules `deny`, `violation`, `warn` (sets of texts or objects with `msg` and `address`) and `allow`
 * (a boolean), or a package that has some of them. Throws for anything else: a policy that says nothing must not pass for one that agrees.
 */
export function interpretAnswers(answers: readonly Answer[]): Findings {
  const named = new Set(answers.map(({ entrypoint }) => entrypoint));
  const all = answers.flatMap((answer) => readAnswer(answer, named));
  let room = MAX_FINDING_TEXT;
  const kept: Finding[] = [];
  // What forbids a plan is shown before what warns.
  for (const finding of all.toSorted((a, b) => Number(a.isWarning) - Number(b.isWarning))) {
    room -= finding.message.length + finding.address.length + finding.rule.length;
    if (room < 0 || kept.length >= MAX_FINDINGS) break;
    kept.push(finding);
  }
  return {
    findings: kept,
    cut: all.length - kept.length,
    isForbidden: all.some(({ isWarning }) => !isWarning),
  };
}

/** What is an entry point of its own is read there, and not with its package, in which it is absent where it is undefined. */
function readAnswer({ entrypoint, value }: Answer, named: ReadonlySet<string>): Finding[] {
  const name = entrypoint.split("/").at(-1) ?? "";
  const known = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (known !== undefined) return readRule(entrypoint, known, value);
  if (!isObject(value)) {
    throw new Error(
      `${entrypoint} is ${describe(value)}; an entry point is a rule (${Object.keys(RULES).join(", ")}) or a package with some of them`,
    );
  }
  const members = Object.entries(value).filter(([member]) => Object.hasOwn(RULES, member));
  const isNamed = (member: string): boolean => named.has(`${entrypoint}/${member}`);
  if (members.length === 0 && !Object.keys(RULES).some(isNamed)) {
    throw new Error(`${entrypoint} has none of the rules ${Object.keys(RULES).join(", ")}`);
  }
  return members.flatMap(([member, given]) =>
    isNamed(member) ? [] : readRule(`${entrypoint}/${member}`, RULES[member] ?? "forbids", given),
  );
}

function readRule(rule: string, meaning: (typeof RULES)[string], value: unknown): Finding[] {
  if (meaning === "allows") {
    if (value === true) return [];
    if (value === false || value === undefined) {
      return [{ rule, message: `${rule} is not true`, address: "", isWarning: false }];
    }
    throw new Error(`${rule} is ${describe(value)}; it has to be a boolean`);
  }
  const isWarning = meaning === "warns";
  if (!Array.isArray(value)) {
    throw new Error(
      `${rule} is ${describe(value)}; it has to be a set of texts, or of objects with msg`,
    );
  }
  return value.map((given: unknown) => {
    if (typeof given === "string") return { rule, message: cutText(given), address: "", isWarning };
    const { msg, address } = isObject(given) ? given : {};
    if (typeof msg !== "string") {
      throw new Error(
        `${rule} has ${describe(given)}; each has to be a text or an object with msg`,
      );
    }
    const place = typeof address === "string" ? cutText(address) : "";
    return { rule, message: cutText(msg), address: place, isWarning };
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined for this plan";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return `of the type ${typeof value}`;
}

function cutText(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}
