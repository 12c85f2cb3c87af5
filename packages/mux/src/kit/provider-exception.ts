import process from "node:process";
import { deepValues, type Value } from "@stackwright/cty";
import type { Attributes } from "./attribute.ts";
import { kindOf } from "./content-failure.ts";

/** Something that provider code threw and that is no ProviderFailure: a mistake in that code, most likely. */
export interface ProviderException {
  /** Such as `create of zones_record`. */
  readonly operation: string;
  /** What happened, with the stack of the error and of its causes. Texts of the request are replaced by `***`. */
  readonly text: string;
  readonly error: unknown;
}

/** A value of a request, with what is known of its attributes. */
export interface GivenValue {
  readonly attributes: Attributes;
  readonly value: Value;
}

/** Shorter texts are too likely to be part of ordinary words; sensitive ones are worth the harm. */
const MIN_TEXT = 6;
const MIN_SENSITIVE = 3;
const MAX_CAUSES = 5;

/** Writes to standard error, which is where a function platform and a plugin host look for it. */
export function writeFault({ text }: ProviderException): void {
  process.stderr.write(`${text}\n`);
}

/**
 * The fault of a call. Which texts of a request are secret is unknown here (a template may mark any), and an
 * error may quote each of them: so all that are long enough are taken out of the text. Of errors only the stack
 * is passed on: other members of theirs may have whole requests.
 */
export function toProviderException(
  operation: string,
  error: unknown,
  given: readonly GivenValue[],
): ProviderException {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  for (let at = error; at !== undefined && !seen.has(at) && seen.size < MAX_CAUSES; ) {
    seen.add(at);
    texts.push(stackOf(at));
    at = at instanceof Error ? at.cause : undefined;
  }
  const text = withoutTexts(texts.join("\ncaused by "), textsOf(given));
  return { operation, text: `${operation} failed: ${text}`, error };
}

function stackOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.stack ?? `${thrown.name}: ${thrown.message}`;
  return typeof thrown === "string"
    ? thrown
    : `${kindOf(thrown)} was thrown, which is not an Error`;
}

function textsOf(given: readonly GivenValue[]): Set<string> {
  const texts = new Set<string>();
  const collect = (value: Value, min: number) => {
    for (const [, part] of deepValues(value)) {
      if (part.type.kind !== "string" || part.isNull || !part.isKnown) continue;
      const text = part.asString();
      for (const one of [text, ...text.split("\n")]) if (one.length >= min) texts.add(one);
    }
  };
  for (const { attributes, value } of given) {
    collect(value, MIN_TEXT);
    if (value.isNull || !value.isKnown || value.type.kind !== "object") continue;
    for (const [name, member] of value.entries()) {
      const { sensitive, writeOnly } = attributes[name]?.options ?? {};
      if (sensitive === true || writeOnly === true) collect(member, MIN_SENSITIVE);
    }
  }
  return texts;
}

/** Texts are quoted as they are, as JSON, and in addresses. Longer ones go first: one may be part of another. */
function withoutTexts(report: string, texts: ReadonlySet<string>): string {
  const forms = new Set<string>();
  for (const text of texts) {
    forms
      .add(text)
      .add(JSON.stringify(text).slice(1, -1))
      .add(encodeURIComponent(text.toWellFormed()));
  }
  let clean = report;
  for (const form of [...forms].toSorted((a, b) => b.length - a.length)) {
    clean = clean.replaceAll(form, "***");
  }
  return clean;
}
