import { readFileSync } from "node:fs";
import {
  CtyError,
  decodeJsonImplied,
  encodeJson,
  Mark,
  unmarkDeep,
  type Value,
} from "@stackwright/cty";
import { consoleScope } from "../console/console.ts";
import { typeText } from "../console/type-text.ts";
import { valueText } from "../console/value-text.ts";
import { evaluate } from "../eval/evaluate.ts";
import { parseExpression } from "../syntax/parse.ts";

/** An expression with the reference command's result, as one line of a corpus file. */
export interface CorpusEntry {
  readonly id: string;
  readonly category: string;
  readonly expr: string;
  /** Whether it fails. Nothing else is compared then. */
  readonly error: boolean;
  readonly summary?: string;
  /** Text of `type(expr)`. */
  readonly type?: string;
  /** Text of `jsonencode(expr)`; null where there is none. */
  readonly json?: string | null;
  /** What the console shows where there is no JSON. */
  readonly console?: string;
  readonly sensitive?: boolean;
}

/** A difference from the reference that is meant. */
export interface CorpusDifference {
  readonly expr: string;
  readonly reason: string;
}

export function readCorpus(file: string): CorpusEntry[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as CorpusEntry);
}

const scope = consoleScope();

/** Evaluates an entry and says how the result differs; undefined where it does not. */
export function compareEntry(entry: CorpusEntry): string | undefined {
  const parsed = parseExpression({ name: "corpus", text: entry.expr });
  const { value, diagnostics } =
    parsed.diagnostics.length > 0
      ? { value: undefined, diagnostics: parsed.diagnostics }
      : evaluate(parsed.value, scope);
  const [problem] = diagnostics;
  if (problem !== undefined || value === undefined) {
    return entry.error ? undefined : `fails: ${problem?.summary}: ${problem?.detail}`;
  }
  if (entry.error) return `is ${valueText(value)}, but fails in the reference (${entry.summary})`;
  return compareValue(entry, value);
}

function compareValue(entry: CorpusEntry, marked: Value): string | undefined {
  const type = typeText(marked.type);
  if (type !== entry.type) return `has type ${type} and not ${entry.type}`;
  const [value, marks] = unmarkDeep(marked);
  if (marks.has(Mark.sensitive) !== (entry.sensitive ?? false)) {
    return `is ${marks.has(Mark.sensitive) ? "" : "not "}sensitive`;
  }
  const json = jsonText(value);
  if (entry.json === null || entry.json === undefined) {
    const shown = valueText(value);
    return shown === entry.console ? undefined : `is ${shown} and not ${entry.console}`;
  }
  if (json === entry.json) return undefined;
  const same = json !== undefined && decodeJsonImplied(json).equals(decodeJsonImplied(entry.json));
  return same === true ? undefined : `is ${json} and not ${entry.json}`;
}

function jsonText(value: Value): string | undefined {
  if (!value.isWhollyKnown) return undefined;
  try {
    return encodeJson(value);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return undefined;
  }
}
