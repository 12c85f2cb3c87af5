import { Mark, type Path, type Value } from "@stackwright/cty";
import { quoteLiteral } from "@stackwright/lang";
import type { BlockSchema, NestedBlockSchema } from "@stackwright/mux/router";
import { diffValues } from "@stackwright/plan-view";
import {
  type ElementPair,
  elementPath,
  elementVersions,
  movedNote,
  pairing,
} from "./element-pairs.ts";
import { paintSign, type Sign } from "./sign.ts";
import {
  keyText,
  type Place,
  sensitiveText,
  signOf,
  UNKNOWN_TEXT,
  type ValueDisplay,
  type Versions,
  valueText,
  versionsText,
} from "./value-diff.ts";

/** Attributes by which users recognize an object; shown although they do not change. */
const IDENTIFYING = new Set(["id", "name", "tags"]);

/**
 * The lines inside of a block: arguments first, then nested blocks, what is unchanged only counted.
 * Without a schema every member is taken for an argument.
 *
 * @param place the column of the signs of the lines, and the path of the block in its object
 */
export function blockLines(
  versions: Versions,
  schema: BlockSchema | undefined,
  place: Place,
  display: ValueDisplay,
): string[] {
  const was = members(versions.before);
  const is = members(versions.after);
  const names = [...new Set([...was.keys(), ...is.keys()])].toSorted();
  const blocks = names.filter((name) => schema?.blocks.has(name) === true);
  const attributes = names.filter((name) => schema?.blocks.has(name) !== true);
  const lines = attributeLines(attributes, { was, is, schema }, place, display);
  const nested: string[] = [];
  let unchanged = 0;
  for (const name of blocks) {
    const block = schema?.blocks.get(name);
    if (block === undefined) continue;
    const result = nestedLines(
      { name, block },
      { before: was.get(name), after: is.get(name) },
      { path: place.path.attribute(name), indent: place.indent },
      display,
    );
    unchanged += result.unchanged;
    nested.push(...result.lines);
  }
  if (unchanged > 0) nested.push("", hidden(unchanged, "block", place, display));
  return [...lines, ...nested];
}

type Members = ReadonlyMap<string, Value>;

function members(value: Value | undefined): Members {
  if (value === undefined || !value.isKnown || value.isNull) return new Map();
  return new Map(value.unmark()[0].entries());
}

function attributeLines(
  names: readonly string[],
  { was, is, schema }: { was: Members; is: Members; schema: BlockSchema | undefined },
  place: Place,
  display: ValueDisplay,
): string[] {
  const rows: { name: string; sign: Sign; text: string }[] = [];
  let unchanged = 0;
  for (const name of names) {
    const attribute = schema?.attributes.get(name);
    const secret = attribute?.sensitive === true && display.secrets === "hidden";
    const written = {
      before: withSchema(was.get(name), secret),
      after: withSchema(is.get(name), secret),
    };
    // Older providers have no null for texts: from nothing to something is an addition.
    const versions = {
      before: emptyAsNothing(written.before),
      after: emptyAsNothing(written.after),
    };
    const sign = signOf(versions);
    const path = place.path.attribute(name);
    if (sign === " " && !display.verbose && !display.forcesReplacement(path)) {
      const value = versions.after;
      if (value === undefined || (value.isKnown && value.isNull)) continue;
      if (!IDENTIFYING.has(name) || was.size === 0) {
        unchanged++;
        continue;
      }
    }
    const at = { path, indent: place.indent + 4 };
    const text =
      attribute?.writeOnly === true
        ? "(write-only attribute)"
        : textOf(sign, sign === " " ? written : versions, at, display);
    rows.push({ name, sign, text });
  }
  const width = Math.max(0, ...rows.map(({ name }) => keyText(name).length));
  const lines = rows.map(({ name, sign, text }) =>
    line(sign, `${keyText(name).padEnd(width)} = ${text}`, place, display),
  );
  if (unchanged > 0) lines.push(hidden(unchanged, "attribute", place, display));
  return lines;
}

function emptyAsNothing(value: Value | undefined): Value | undefined {
  if (value === undefined || !value.isKnown || value.isNull) return value;
  const [plain] = value.unmark();
  return plain.type.kind === "string" && plain.asString() === "" ? undefined : value;
}

/** An attribute that its schema calls secret is secret, with any marks of its value. */
function withSchema(value: Value | undefined, secret: boolean): Value | undefined {
  return secret && value !== undefined && !(value.isKnown && value.isNull)
    ? value.mark(Mark.sensitive)
    : value;
}

function textOf(sign: Sign, versions: Versions, place: Place, display: ValueDisplay): string {
  const { after } = versions;
  return sign === " " && after !== undefined
    ? valueText(after, " ", place, display)
    : versionsText(versions, place, display);
}

interface NestedBlock {
  readonly name: string;
  readonly block: NestedBlockSchema;
}

function nestedLines(
  { name, block }: NestedBlock,
  versions: Versions,
  place: Place,
  display: ValueDisplay,
): { lines: string[]; unchanged: number } {
  const lines: string[] = [];
  let unchanged = 0;
  const show = (one: Versions, label: string, path: Path, moved = ""): void => {
    const same = signOf(one);
    // A block that has another place among the others changes its list.
    const sign = same === " " && moved !== "" ? "~" : same;
    if (sign === " " && !display.verbose) {
      if (one.after !== undefined && !one.after.isNull) unchanged++;
      return;
    }
    const inside = blockLines(one, block.block, { path, indent: place.indent + 4 }, display);
    const note = display.forcesReplacement(path)
      ? display.style.paint("delete", " # forces replacement")
      : moved;
    lines.push(
      "",
      line(
        sign,
        `${name}${label === "" ? "" : ` "${quoteLiteral(label)}"`} {${note}`,
        place,
        display,
      ),
      ...inside,
      `${" ".repeat(place.indent + 2)}}`,
    );
  };
  const { before, after } = versions;
  if (before?.hasMark(Mark.sensitive) === true || after?.hasMark(Mark.sensitive) === true) {
    const sign = signOf(versions);
    if (sign === " " && !display.verbose) return { lines, unchanged: 1 };
    lines.push("", line(sign, `${name} {`, place, display));
    lines.push(
      `${" ".repeat(place.indent + 4)}${sensitiveText(display)}`,
      `${" ".repeat(place.indent + 2)}}`,
    );
    return { lines, unchanged };
  }
  if (after !== undefined && !after.isKnown) {
    lines.push("", line(before === undefined ? "+" : "~", `${name} {`, place, display));
    lines.push(
      `${" ".repeat(place.indent + 4)}${UNKNOWN_TEXT}`,
      `${" ".repeat(place.indent + 2)}}`,
    );
    return { lines, unchanged };
  }
  switch (block.nesting) {
    case "single":
    case "group":
      show(versions, "", place.path);
      break;
    case "map": {
      const was = members(before);
      const is = members(after);
      for (const key of [...new Set([...was.keys(), ...is.keys()])].toSorted()) {
        show({ before: was.get(key), after: is.get(key) }, key, place.path.index(key));
      }
      break;
    }
    case "set":
    case "list":
    default: {
      const items = pairedBlocks(versions, place.path, display);
      const [was, is] = [elements(before), elements(after)];
      for (const item of items) {
        const one = elementVersions(item, was, is);
        const path = elementPath(place.path, block.nesting === "set", one, item);
        show(one, "", path, movedNote(item, display));
      }
    }
  }
  return { lines, unchanged };
}

function elements(value: Value | undefined): readonly Value[] {
  return value === undefined || !value.isKnown || value.isNull ? [] : value.unmark()[0].elements();
}

/** The blocks of a list or set, in pairs where one became the other. */
function pairedBlocks(
  { before, after }: Versions,
  path: Path,
  display: ValueDisplay,
): readonly ElementPair[] {
  const [was, is] = [elements(before), elements(after)];
  const none = (at: "beforeIndex" | "afterIndex") => (_: Value, index: number) => ({ [at]: index });
  if (was.length === 0 || is.length === 0 || before === undefined || after === undefined) {
    return [...was.map(none("beforeIndex")), ...is.map(none("afterIndex"))];
  }
  const diff = diffValues(before, after, pairing(path, display));
  if (diff.kind === "items") return diff.items;
  return is.map((_, index) => ({ beforeIndex: index, afterIndex: index }));
}

function line(sign: Sign, text: string, { indent }: Place, { style }: ValueDisplay): string {
  return `${" ".repeat(indent)}${paintSign(sign, style)} ${text}`;
}

function hidden(count: number, what: string, place: Place, { style }: ValueDisplay): string {
  const noun = count === 1 ? what : `${what}s`;
  return `${" ".repeat(place.indent + 2)}${style.paint("quiet", `# (${count} unchanged ${noun} hidden)`)}`;
}
