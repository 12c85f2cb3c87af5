import type { SecretDisplay } from "@stackwright/core";
import { Mark, Path, unmarkDeep, type Value } from "@stackwright/cty";
import { quoteLiteral } from "@stackwright/lang";
import type { Style } from "../terminal/style.ts";
import { jsonInside } from "./json-inside.ts";
import { pairChanges } from "./pair-changes.ts";
import { sequenceSteps } from "./sequence-diff.ts";
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
export function rendersEqual(before: Value | undefined, after: Value | undefined): boolean {
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
  if (before === undefined || isNull(before)) {
    return after === undefined
      ? "null"
      : valueText(after, "+", place, display) + forced(place, display);
  }
  if (after === undefined || isNull(after)) {
    return `${valueText(before, "-", place, display)}${display.style.paint("quiet", " -> null")}${forced(place, display)}`;
  }
  if (sensitive(before) || sensitive(after)) return sensitiveText(display) + forced(place, display);
  if (!after.isKnown || !before.isKnown || before.type.kind !== after.type.kind) {
    if (bothIterable(before, after)) return structureText({ before, after }, place, display);
    const arrow = display.style.paint("update", "->");
    const was = valueText(before, "-", place, display);
    const is = valueText(after, "+", place, display);
    return `${was} ${arrow} ${is}${forced(place, display)}`;
  }
  return structureText({ before, after }, place, display);
}

function bothIterable(before: Value, after: Value): boolean {
  if (!before.isKnown || !after.isKnown) return false;
  return (isMapping(before) && isMapping(after)) || (isSequence(before) && isSequence(after));
}

function isMapping({ type }: Value): boolean {
  return type.kind === "object" || type.kind === "map";
}

function isSequence({ type }: Value): boolean {
  return type.kind === "list" || type.kind === "tuple";
}

function structureText(
  versions: { readonly before: Value; readonly after: Value },
  place: Place,
  display: ValueDisplay,
): string {
  const { before, after } = versions;
  if (isMapping(after)) return mappingText(versions, place, display);
  if (isSequence(after)) return sequenceText(versions, place, display);
  if (after.type.kind === "set") return setText(versions, place, display);
  if (after.type.kind === "string")
    return stringText(before.asString(), after.asString(), place, display);
  const arrow = display.style.paint("update", "->");
  return `${leafText(before)} ${arrow} ${leafText(after)}${forced(place, display)}`;
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

function mappingText(
  { before, after }: { readonly before: Value; readonly after: Value },
  place: Place,
  display: ValueDisplay,
): string {
  const was = new Map(before.unmark()[0].entries());
  const is = new Map(after.unmark()[0].entries());
  const names = [...new Set([...was.keys(), ...is.keys()])].toSorted();
  const width = Math.max(0, ...names.map((name) => keyText(name).length));
  const lines: string[] = [];
  let unchanged = 0;
  for (const name of names) {
    const versions = { before: was.get(name), after: is.get(name) };
    const sign = signOf(versions);
    if (sign === " " && !display.verbose) {
      if (versions.after !== undefined && !isNull(versions.after)) unchanged++;
      continue;
    }
    const path = after.type.kind === "map" ? place.path.index(name) : place.path.attribute(name);
    const text = versionsText(versions, inner(place, path), display);
    lines.push(line(sign, `${keyText(name).padEnd(width)} = ${text}`, place, display));
  }
  if (unchanged > 0) {
    lines.push(
      hidden(unchanged, after.type.kind === "map" ? "element" : "attribute", place, display),
    );
  }
  return ["{", ...lines, closing(place, "}")].join("\n") + forced(place, display);
}

function sequenceText(
  { before, after }: { readonly before: Value; readonly after: Value },
  place: Place,
  display: ValueDisplay,
): string {
  const steps = pairChanges(
    sequenceSteps(before.unmark()[0].elements(), after.unmark()[0].elements(), rendersEqual),
  );
  const lines: string[] = [];
  let unchanged = 0;
  const flush = (): void => {
    if (unchanged > 0) lines.push(hidden(unchanged, "element", place, display));
    unchanged = 0;
  };
  const add = (sign: Sign, text: string): void => {
    lines.push(line(sign, `${text},`, place, display));
  };
  for (const step of steps) {
    const at = inner(place, place.path.index(step.index));
    if (step.kind === "keep" && !display.verbose) {
      unchanged++;
      continue;
    }
    flush();
    if (step.kind === "keep") add(" ", valueText(step.after, " ", at, display));
    else if (step.kind === "remove") add("-", valueText(step.before, "-", at, display));
    else if (step.kind === "insert") add("+", valueText(step.after, "+", at, display));
    else if (bothIterable(step.before, step.after)) add("~", versionsText(step, at, display));
    else {
      add("-", valueText(step.before, "-", at, display));
      add("+", valueText(step.after, "+", at, display));
    }
  }
  flush();
  return ["[", ...lines, closing(place, "]")].join("\n") + forced(place, display);
}

function setText(
  { before, after }: { readonly before: Value; readonly after: Value },
  place: Place,
  display: ValueDisplay,
): string {
  const was = before.unmark()[0].elements();
  const is = after.unmark()[0].elements();
  const lines: string[] = [];
  const at = inner(place, place.path);
  for (const element of was) {
    if (is.some((other) => rendersEqual(element, other))) continue;
    lines.push(line("-", `${valueText(element, "-", at, display)},`, place, display));
  }
  let unchanged = 0;
  for (const element of is) {
    if (was.some((other) => rendersEqual(element, other))) unchanged++;
    else lines.push(line("+", `${valueText(element, "+", at, display)},`, place, display));
  }
  if (unchanged > 0) lines.push(hidden(unchanged, "element", place, display));
  return ["[", ...lines, closing(place, "]")].join("\n") + forced(place, display);
}

function stringText(before: string, after: string, place: Place, display: ValueDisplay): string {
  const was = jsonInside(before);
  const is = jsonInside(after);
  if (was !== undefined && is !== undefined) {
    if (rendersEqual(was, is)) {
      return `jsonencode( # only white space changes\n${line(" ", valueText(is, " ", inner(place, place.path), display), place, display)}\n${closing(place, ")")}${forced(place, display)}`;
    }
    const text = versionsText({ before: was, after: is }, inner(place, Path.root), display);
    return `jsonencode(\n${line("~", text, place, display)}\n${closing(place, ")")}${forced(place, display)}`;
  }
  if (!before.includes("\n") && !after.includes("\n")) {
    const arrow = display.style.paint("update", "->");
    return `"${quoteLiteral(before)}" ${arrow} "${quoteLiteral(after)}"${forced(place, display)}`;
  }
  const steps = sequenceSteps(textLines(before), textLines(after), (left, right) => left === right);
  const lines = steps.map((step) =>
    step.kind === "remove"
      ? line("-", visible(step.before), place, display)
      : line(step.kind === "insert" ? "+" : " ", visible(step.after), place, display),
  );
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
