import { Mark, rangeOf, type Value } from "@stackwright/cty";
import type { Diff } from "../model/diff.ts";
import type { Shown, ShownMember, ShownRefinement } from "../model/shown.ts";
import { textHunks } from "./text-lines.ts";
import type { ValueDiff } from "./value-diff.ts";
import { shapeOf } from "./value-shape.ts";

/** How much of values is shown. */
export interface ShowOptions {
  /** Longer texts are replaced by their length, in characters. @default 65,536 */
  readonly maxTextLength?: number;
  /**
   * The values were read without their secrets: null may stand for one, and every sensitive part is shown as one.
   *
   * @default false
   */
  readonly withoutSecrets?: boolean;
}

const MAX_TEXT_LENGTH = 64 * 1024;

/**
 * The value as JSON; nothing of a sensitive part is in it, not even its type. Null is no secret: an attribute that is not set is
 * absent, also where its schema calls it sensitive.
 */
export function showValue(value: Value, options: ShowOptions = {}): Shown {
  const [plain] = value.unmark();
  if (value.hasMark(Mark.sensitive)) {
    const isAbsent = options.withoutSecrets !== true && plain.isKnown && plain.isNull;
    return isAbsent ? { kind: "null" } : { kind: "secret" };
  }
  if (!plain.isKnown) return unknownOf(plain);
  if (plain.isNull) return { kind: "null" };
  switch (shapeOf(plain)) {
    case "members":
      return {
        kind: plain.type.kind === "map" ? "map" : "object",
        members: [...plain.entries()].map(
          ([name, member]): ShownMember => ({ name, value: showValue(member, options) }),
        ),
      };
    case "items":
    case "set":
      return {
        kind: plain.type.kind === "set" ? "set" : "list",
        items: plain.elements().map((element) => showValue(element, options)),
      };
    case "leaf":
    default:
      return leafOf(plain, options);
  }
}

function leafOf(plain: Value, { maxTextLength = MAX_TEXT_LENGTH }: ShowOptions): Shown {
  if (plain.type.kind === "string") {
    const text = plain.asString();
    return text.length > maxTextLength
      ? { kind: "omitted", characters: text.length }
      : { kind: "string", text };
  }
  if (plain.type.kind === "number") return { kind: "number", text: plain.asBigFloat().toString() };
  if (plain.type.kind === "bool") return { kind: "bool", value: plain.asBoolean() };
  return { kind: "omitted", characters: 0 };
}

function unknownOf(plain: Value): Shown {
  const range = rangeOf(plain);
  const refinement: ShownRefinement = {
    ...(range.isNull === false && { notNull: true as const }),
    ...(range.prefix !== "" && { prefix: range.prefix }),
    ...(range.minLength > 0 && { minLength: range.minLength }),
    ...(Number.isFinite(range.maxLength) && { maxLength: range.maxLength }),
  };
  return Object.keys(refinement).length === 0
    ? { kind: "unknown" }
    : { kind: "unknown", refinement };
}

/** The difference as JSON, without anything of sensitive parts. */
export function showDiff(diff: ValueDiff, options: ShowOptions = {}): Diff {
  switch (diff.kind) {
    case "same":
    case "add":
    case "remove":
      return { kind: diff.kind, value: showValue(diff.value, options) };
    case "secret":
      return { kind: "secret", changed: secretChanged(diff.before, diff.after) };
    case "members":
      return {
        kind: diff.type.kind === "map" ? "map" : "object",
        members: diff.members.map(({ diff: inner, ...member }) => ({
          ...member,
          diff: showDiff(inner, options),
        })),
      };
    case "items":
      return {
        kind: diff.type.kind === "set" ? "set" : "list",
        items: diff.items.map(({ diff: inner, ...item }) => ({
          ...item,
          diff: showDiff(inner, options),
        })),
        ...(diff.orderOnly === true && { note: "order" as const }),
      };
    case "document":
      if (diff.body !== undefined) {
        const body = showDiff(diff.body, options);
        const formattingOnly = diff.body.kind === "same";
        return { kind: "document", syntax: "json", body, formattingOnly };
      }
      return changeOf(diff.before, diff.after, options);
    case "text": {
      const hunks = textHunks(
        diff.before.unmark()[0].asString(),
        diff.after.unmark()[0].asString(),
      );
      if (hunks !== undefined) return { kind: "text", hunks };
      return changeOf(diff.before, diff.after, { ...options, maxTextLength: 1_000 });
    }
    case "change":
    default: {
      const shown = changeOf(diff.before, diff.after, options);
      return diff.note === undefined ? shown : { ...shown, note: diff.note };
    }
  }
}

function changeOf(
  before: Value,
  after: Value,
  options: ShowOptions,
): Extract<Diff, { kind: "change" }> {
  return { kind: "change", before: showValue(before, options), after: showValue(after, options) };
}

function secretChanged(before: Value, after: Value): boolean | "unknown" {
  const [was, is] = [before.unmark()[0], after.unmark()[0]];
  if (!was.isWhollyKnown || !is.isWhollyKnown) return "unknown";
  return !was.rawEquals(is) || before.hasMark(Mark.sensitive) !== after.hasMark(Mark.sensitive);
}
