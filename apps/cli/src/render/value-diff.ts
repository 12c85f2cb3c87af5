import type { SecretDisplay } from "@stackwright/core";
import { decodeJsonImplied, Mark, Path, unmarkDeep, type Value } from "@stackwright/cty";
import { quoteLiteral } from "@stackwright/lang";
import {
  diffLines,
  diffValues,
  type ItemDiff,
  type MemberDiff,
  type TextLine,
  textHunks,
  type ValueDiff,
} from "@stackwright/plan-view";
import type { Style } from "../terminal/style.ts";
import { elementPath, elementVersions, movedNote, pairing } from "./element-pairs.ts";
import { jsonInside } from "./json-inside.ts";
import { paintSign, type Sign } from "./sign.ts";

/** How values are shown. */
export interface ValueDisplay {
  readonly style: Style;
  /** Whether a change at this path needs a new object. */
  readonly forcesReplacement: (path: Path) => boolean;
  /** Whether unchanged parts are shown in full. */
  readonly verbose: boolean;
  /** Whether attributes are hidden that their schema calls sensitive; marked values are hidden always. */
  readonly secrets: SecretDisplay;
  /** Secrets were read without their key. */
  readonly secretsOmitted?: boolean;
  /** The type of the resource: it decides what identifies the elements of some lists. */
  readonly type?: string;
}

/** A place in the object being shown. */
export interface Place {
  readonly path: Path;
  /** Column of the sign of lines inside of the value. */
  readonly indent: number;
}

/** A value before and after; undefined where there is none. */
export interface Versions {
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

export const UNKNOWN_TEXT = "(known after apply)";
const SENSITIVE_TEXT = "(sensitive value)";
/** Replaces a secret that was read without its key. */
const OMITTED_TEXT = "(sensitive value; key missing)";

/** The text in place of a sensitive value: one that is null was read without its key. */
export function sensitiveText(display: Pick<ValueDisplay, "secretsOmitted">): string {
  return display.secretsOmitted === true ? OMITTED_TEXT : SENSITIVE_TEXT;
}

/** Whether two values are the same to a reader: marks do not count. */
function rendersEqual(before: Value | undefined, after: Value | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return unmarkDeep(before)[0].rawEquals(unmarkDeep(after)[0]);
}

/** What happens to a member of an object; nothing and null are the same. */
export function signOf({ before, after }: Versions): Sign {
  const was = before !== undefined && !isNull(before);
  const is = after !== undefined && !isNull(after);
  if (!was) return is ? "+" : " ";
  if (!is) return "-";
  return rendersEqual(before, after) && sensitive(before) === sensitive(after) ? " " : "~";
}

function isNull(value: Value): boolean {
  return value.isKnown && value.isNull;
}

function sensitive(value: Value): boolean {
  return value.hasMark(Mark.sensitive);
}

/** The text of a changed value; lines after the first one begin at column 0 with their own signs. */
export function versionsText(versions: Versions, place: Place, display: ValueDisplay): string {
  const { before, after } = versions;
  const diff =
    before === undefined || after === undefined
      ? undefined
      : diffValues(before, after, pairing(place.path, display));
  return differenceText(versions, diff, place, display);
}

/** The text of two versions whose difference is known; undefined where one of them is missing. */
function differenceText(
  { before, after }: Versions,
  diff: ValueDiff | undefined,
  place: Place,
  display: ValueDisplay,
): string {
  if (before === undefined || isNull(before)) {
    return after === undefined
      ? "null"
      : valueText(after, "+", place, display) + forced(place, display);
  }
  if (after === undefined || isNull(after)) {
    return `${valueText(before, "-", place, display)}${display.style.paint("quiet", " -> null")}${forced(place, display)}`;
  }
  if (sensitive(before) || sensitive(after)) return sensitiveText(display) + forced(place, display);
  const both = { before, after };
  switch (diff?.kind) {
    case "members":
      return membersText(both, diff.members, place, display);
    case "items":
      return itemsText(both, diff, place, display);
    case "document":
      return documentText(both, diff.body, place, display);
    case "text":
      return linesText(before.unmark()[0].asString(), after.unmark()[0].asString(), place, display);
    case "same":
    case "add":
    case "remove":
    case "change":
    case "secret":
    case undefined:
    default:
      return arrowText(both, place, display);
  }
}

function arrowText(
  { before, after }: { readonly before: Value; readonly after: Value },
  place: Place,
  display: ValueDisplay,
): string {
  const arrow = display.style.paint("update", "->");
  // Of two texts on one line each neither is shown as the document that it may hold.
  const [was, is] =
    isText(before) && isText(after)
      ? [leafText(before.unmark()[0]), leafText(after.unmark()[0])]
      : [valueText(before, "-", place, display), valueText(after, "+", place, display)];
  return `${was} ${arrow} ${is}${forced(place, display)}`;
}

function isText(value: Value): boolean {
  return value.isKnown && value.type.kind === "string";
}

function isMapping({ type }: Value): boolean {
  return type.kind === "object" || type.kind === "map";
}

function isSequence({ type }: Value): boolean {
  return type.kind === "list" || type.kind === "tuple";
}

function forced({ path }: Place, { style, forcesReplacement }: ValueDisplay): string {
  return forcesReplacement(path) ? style.paint("delete", " # forces replacement") : "";
}

function line(sign: Sign, text: string, { indent }: Place, { style }: ValueDisplay): string {
  return `${" ".repeat(indent)}${paintSign(sign, style)} ${text}`;
}

function inner(place: Place, path: Path): Place {
  return { path, indent: place.indent + 4 };
}

function closing({ indent }: Place, bracket: string): string {
  return `${" ".repeat(indent - 2)}${bracket}`;
}

function hidden(count: number, what: string, place: Place, { style }: ValueDisplay): string {
  const noun = count === 1 ? what : `${what}s`;
  return `${" ".repeat(place.indent + 2)}${style.paint("quiet", `# (${count} unchanged ${noun} hidden)`)}`;
}

/** The name of a member as it is written in an object. */
export function keyText(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name) ? name : `"${quoteLiteral(name)}"`;
}

function membersText(
  { before, after }: { readonly before: Value; readonly after: Value },
  members: readonly MemberDiff[],
  place: Place,
  display: ValueDisplay,
): string {
  const was = new Map(before.unmark()[0].entries());
  const is = new Map(after.unmark()[0].entries());
  const width = Math.max(0, ...members.map(({ name }) => keyText(name).length));
  const lines: string[] = [];
  let unchanged = 0;
  for (const { name, diff, context } of members) {
    const versions = { before: was.get(name), after: is.get(name) };
    const { after: now } = versions;
    const sign = signOf(versions);
    const isNothing = now === undefined || isNull(now);
    if (sign === " " && !display.verbose && (context !== true || isNothing)) {
      if (!isNothing) unchanged++;
      continue;
    }
    const path = after.type.kind === "map" ? place.path.index(name) : place.path.attribute(name);
    const at = inner(place, path);
    const text =
      sign === " " && now !== undefined
        ? valueText(now, " ", at, display)
        : differenceText(versions, diff, at, display);
    lines.push(line(sign, `${keyText(name).padEnd(width)} = ${text}`, place, display));
  }
  if (unchanged > 0) {
    lines.push(
      hidden(unchanged, after.type.kind === "map" ? "element" : "attribute", place, display),
    );
  }
  return ["{", ...lines, closing(place, "}")].join("\n") + forced(place, display);
}

function itemsText(
  { before, after }: { readonly before: Value; readonly after: Value },
  { items, orderOnly }: Extract<ValueDiff, { kind: "items" }>,
  place: Place,
  display: ValueDisplay,
): string {
  const was = before.unmark()[0].elements();
  const is = after.unmark()[0].elements();
  const lines: string[] = [];
  let unchanged = 0;
  const flush = (): void => {
    if (unchanged > 0) lines.push(hidden(unchanged, "element", place, display));
    unchanged = 0;
  };
  for (const item of items) {
    const versions = elementVersions(item, was, is);
    const sign = elementSign(versions, item);
    if (sign === " " && !display.verbose) {
      unchanged++;
      continue;
    }
    flush();
    const at = inner(place, elementPath(place.path, after.type.kind === "set", versions, item));
    const text = elementText(versions, item.diff, at, display);
    const [first = "", ...rest] = `${text},`.split("\n");
    lines.push(line(sign, [first + movedNote(item, display), ...rest].join("\n"), place, display));
  }
  flush();
  const note = orderOnly === true ? display.style.paint("quiet", " # order only") : "";
  return [`[${note}`, ...lines, closing(place, "]")].join("\n") + forced(place, display);
}

function elementText(
  versions: Versions,
  diff: ValueDiff,
  place: Place,
  display: ValueDisplay,
): string {
  const { before, after } = versions;
  if (after === undefined)
    return before === undefined ? "" : valueText(before, "-", place, display);
  if (before === undefined) return valueText(after, "+", place, display);
  return signOf(versions) === " "
    ? valueText(after, " ", place, display)
    : differenceText(versions, diff, place, display);
}

/** What happens to an element: one that is null is there all the same, and one that moves changes its list. */
function elementSign(versions: Versions, { moved }: ItemDiff): Sign {
  if (versions.before === undefined) return "+";
  if (versions.after === undefined) return "-";
  return signOf(versions) === " " && moved !== true ? " " : "~";
}

function documentText(
  { before, after }: { readonly before: Value; readonly after: Value },
  body: ValueDiff | undefined,
  place: Place,
  display: ValueDisplay,
): string {
  const was = decodeJsonImplied(before.unmark()[0].asString());
  const is = decodeJsonImplied(after.unmark()[0].asString());
  if (rendersEqual(was, is)) {
    return `jsonencode( # only white space changes\n${line(" ", valueText(is, " ", inner(place, place.path), display), place, display)}\n${closing(place, ")")}${forced(place, display)}`;
  }
  const text = differenceText({ before: was, after: is }, body, inner(place, Path.root), display);
  return `jsonencode(\n${line("~", text, place, display)}\n${closing(place, ")")}${forced(place, display)}`;
}

function linesText(before: string, after: string, place: Place, display: ValueDisplay): string {
  const hunks = display.verbose ? undefined : textHunks(before, after);
  const rows = (lines: readonly TextLine[]): string[] =>
    lines.map(({ sign, text }) => line(sign, visible(text), place, display));
  const lines =
    hunks === undefined
      ? rows(diffLines(textLines(before), textLines(after)))
      : hunks.flatMap(({ skipped, lines: near }) => [
          ...(skipped > 0 ? [hidden(skipped, "line", place, display)] : []),
          ...rows(near),
        ]);
  return ["<<-EOT", ...lines, closing(place, "EOT")].join("\n") + forced(place, display);
}

/** A whole value under one sign, as in an object that is created or deleted. */
export function valueText(marked: Value, sign: Sign, place: Place, display: ValueDisplay): string {
  if (sensitive(marked)) return sensitiveText(display);
  if (!marked.isKnown) return UNKNOWN_TEXT;
  const [value] = marked.unmark();
  if (value.isNull) return "null";
  if (isMapping(value)) {
    const members = [...value.entries()].filter(([, member]) => sign === " " || !isNull(member));
    if (members.length === 0) return "{}";
    const width = Math.max(...members.map(([name]) => keyText(name).length));
    const lines = members.toSorted(byName).map(([name, member]) => {
      const text = valueText(member, sign, inner(place, place.path), display);
      return line(sign, `${keyText(name).padEnd(width)} = ${text}`, place, display);
    });
    return ["{", ...lines, closing(place, "}")].join("\n");
  }
  if (isSequence(value) || value.type.kind === "set") {
    const elements = value.elements();
    if (elements.length === 0) return "[]";
    const lines = elements.map((element) =>
      line(sign, `${valueText(element, sign, inner(place, place.path), display)},`, place, display),
    );
    return ["[", ...lines, closing(place, "]")].join("\n");
  }
  if (value.type.kind === "string") return wholeString(value.asString(), sign, place, display);
  return leafText(value);
}

function byName([left]: readonly [string, Value], [right]: readonly [string, Value]): number {
  return left < right ? -1 : Number(left > right);
}

function wholeString(text: string, sign: Sign, place: Place, display: ValueDisplay): string {
  const inside = jsonInside(text);
  if (inside !== undefined) {
    const shown = valueText(inside, sign, inner(place, place.path), display);
    return `jsonencode(\n${line(sign, shown, place, display)}\n${closing(place, ")")}`;
  }
  if (!text.includes("\n")) return `"${quoteLiteral(text)}"`;
  const lines = textLines(text).map((row) => `${" ".repeat(place.indent + 2)}${visible(row)}`);
  return ["<<-EOT", ...lines, closing(place, "EOT")].join("\n");
}

/** The lines of a text; a line feed at the end begins no further one. */
function textLines(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function leafText(value: Value): string {
  if (value.isNull) return "null";
  switch (value.type.kind) {
    case "string":
      return `"${quoteLiteral(value.asString())}"`;
    case "number":
      return value.asBigFloat().toString();
    case "bool":
      return String(value.asBoolean());
    case "list":
    case "set":
    case "map":
    case "object":
    case "tuple":
    case "capsule":
    case "dynamic":
    default:
      return `(${value.type.kind})`;
  }
}

/** Control characters as symbols, so that no value can send commands to the terminal. */
function visible(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (found) =>
    found === "\t" ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
