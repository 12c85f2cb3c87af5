import type { Diff, DiffItem, DiffMember, TextHunk } from "../model/diff.ts";
import type { Shown } from "../model/shown.ts";
import { documentInText } from "./document-in-text.ts";
import { leafText, nameText, visibleText } from "./value-text.ts";

/** What happens to a line. */
export type LineSign = "+" | "-" | "~" | " ";

/** One line of a difference. Texts hold no control characters. */
export interface DiffLine {
  readonly depth: number;
  readonly sign: LineSign;
  readonly text: string;
  /** A remark about lines that are not shown, or about what a change does. */
  readonly note?: string;
}

/** What the lines of a difference show. */
export interface LineOptions {
  /** Unchanged parts as well. @default false */
  readonly verbose?: boolean;
  /** Paths, as texts, whose change needs a new object. */
  readonly replacePaths?: readonly string[];
  /** How elements of lists were paired. @default false */
  readonly pairing?: boolean;
}

/** Members by which users recognize an object; shown although they do not change. */
const IDENTIFYING = new Set(["id", "name"]);

/** The lines inside of an object's change, without brackets around them. */
export function bodyLines(body: Diff, options: LineOptions = {}): DiffLine[] {
  const writer = new LineWriter(options);
  if (body.kind === "object" || body.kind === "map") {
    writer.members(body.members, 0, "", IDENTIFYING);
  } else if (body.kind === "add" || body.kind === "remove") {
    const sign = body.kind === "add" ? "+" : "-";
    if (body.value.kind === "object" || body.value.kind === "map") {
      writer.shownMembers(body.value.members, 0, sign);
    } else writer.shown("", body.value, 0, sign, "");
  } else if (body.kind !== "same") writer.diff("", body, 0, "");
  return writer.lines;
}

/** The lines of a difference with a name in front: an output. */
export function namedLines(name: string, diff: Diff, options: LineOptions = {}): DiffLine[] {
  const writer = new LineWriter(options);
  writer.diff(`${nameText(name)} = `, diff, 0, name);
  return writer.lines;
}

class LineWriter {
  readonly lines: DiffLine[] = [];
  readonly #verbose: boolean;
  readonly #pairing: boolean;
  readonly #replacing: ReadonlySet<string>;

  constructor({ verbose = false, replacePaths = [], pairing = false }: LineOptions) {
    this.#verbose = verbose;
    this.#pairing = pairing;
    this.#replacing = new Set(replacePaths);
  }

  #add(depth: number, sign: LineSign, text: string, note?: string): void {
    this.lines.push({ depth, sign, text, ...(note !== undefined && { note }) });
  }

  members(
    members: readonly DiffMember[],
    depth: number,
    path: string,
    identifying: ReadonlySet<string> = new Set(),
  ): void {
    const shown = members.filter(
      ({ name, diff, context }) =>
        isVisible(diff, this.#verbose) ||
        (diff.kind === "same" &&
          !isNothing(diff.value) &&
          (context === true || identifying.has(name) || this.#replacing.has(join(path, name)))),
    );
    const width = widest(shown);
    for (const { name, diff } of shown) {
      this.diff(`${nameText(name).padEnd(width)} = `, diff, depth, join(path, name));
    }
    const written = new Set(shown);
    const hidden = members.filter(
      (member) =>
        !written.has(member) && member.diff.kind === "same" && !isNothing(member.diff.value),
    ).length;
    this.#hidden(hidden, "attribute", depth);
  }

  shownMembers(
    members: readonly { readonly name: string; readonly value: Shown }[],
    depth: number,
    sign: LineSign,
  ): void {
    const present = members.filter(({ value }) => sign === " " || !isNothing(value));
    const width = widest(present);
    for (const { name, value } of present) {
      this.shown(`${nameText(name).padEnd(width)} = `, value, depth, sign, "");
    }
  }

  /** A whole value under one sign. */
  shown(head: string, value: Shown, depth: number, sign: LineSign, end: string): void {
    switch (value.kind) {
      case "object":
      case "map":
        if (value.members.length === 0) this.#add(depth, sign, `${head}{}${end}`);
        else {
          this.#add(depth, sign, `${head}{`);
          this.shownMembers(value.members, depth + 1, sign);
          this.#add(depth, " ", `}${end}`);
        }
        break;
      case "list":
      case "set":
        if (value.items.length === 0) this.#add(depth, sign, `${head}[]${end}`);
        else {
          this.#add(depth, sign, `${head}[`);
          for (const item of value.items) this.shown("", item, depth + 1, sign, ",");
          this.#add(depth, " ", `]${end}`);
        }
        break;
      case "string": {
        const document = documentInText(value.text);
        if (document !== undefined) {
          this.#add(depth, sign, `${head}jsonencode(`);
          this.shown("", document, depth + 1, sign, "");
          this.#add(depth, " ", `)${end}`);
        } else if (!value.text.includes("\n"))
          this.#add(depth, sign, `${head}${leafText(value)}${end}`);
        else {
          this.#add(depth, sign, `${head}<<-EOT`);
          for (const line of linesOf(value.text)) this.#add(depth + 1, sign, visibleText(line));
          this.#add(depth, " ", `EOT${end}`);
        }
        break;
      }
      case "null":
      case "number":
      case "bool":
      case "unknown":
      case "secret":
      case "omitted":
      default:
        this.#add(depth, sign, `${head}${leafText(value)}${end}`);
    }
  }

  diff(head: string, diff: Diff, depth: number, path: string, end = ""): void {
    const note = this.#replacing.has(path) ? "forces replacement" : undefined;
    switch (diff.kind) {
      case "same":
        this.shown(head, diff.value, depth, " ", end);
        break;
      case "add":
        this.shown(head, diff.value, depth, "+", end);
        break;
      case "remove":
        this.shown(head, diff.value, depth, "-", end);
        break;
      case "change":
        this.#change(head, diff, depth, { end, note });
        break;
      case "secret":
        this.#add(depth, "~", `${head}(sensitive value)${end}`, note);
        break;
      case "object":
      case "map":
        this.#add(depth, "~", `${head}{`, note);
        this.members(diff.members, depth + 1, path);
        this.#add(depth, " ", `}${end}`);
        break;
      case "list":
      case "set":
        this.#add(depth, "~", `${head}[`, diff.note === "order" ? "order only" : note);
        this.#items(diff.items, depth + 1, path);
        this.#add(depth, " ", `]${end}`);
        break;
      case "text":
        this.#add(depth, "~", `${head}<<-EOT`, note);
        this.#hunks(diff.hunks, depth + 1);
        this.#add(depth, " ", "EOT");
        break;
      case "document":
      default:
        if (diff.formattingOnly) {
          this.#add(depth, "~", `${head}jsonencode(...)${end}`, "formatting only");
          break;
        }
        this.#add(depth, "~", `${head}jsonencode(`, note);
        this.diff("", diff.body, depth + 1, path);
        this.#add(depth, " ", `)${end}`);
    }
  }

  #change(
    head: string,
    { before, after }: Extract<Diff, { kind: "change" }>,
    depth: number,
    { end, note }: { readonly end: string; readonly note: string | undefined },
  ): void {
    const inline = isInline(before) && isInline(after);
    if (before.kind === "null") {
      this.shown(head, after, depth, "+", end);
    } else if (inline) {
      const sign = after.kind === "null" ? "-" : "~";
      this.#add(depth, sign, `${head}${leafText(before)} -> ${leafText(after)}${end}`, note);
    } else if (after.kind === "null" || after.kind === "unknown") {
      const first = this.lines.length;
      this.shown(head, before, depth, "-", ` -> ${leafText(after)}${end}`);
      // The lines inside go; the value itself changes.
      const line = this.lines[first];
      if (line !== undefined && after.kind === "unknown")
        this.lines[first] = { ...line, sign: "~" };
    } else {
      this.shown(head, before, depth, "-", end);
      this.shown(head, after, depth, "+", end);
    }
  }

  #items(items: readonly DiffItem[], depth: number, path: string): void {
    let hidden = 0;
    const flush = (): void => {
      this.#hidden(hidden, "element", depth);
      hidden = 0;
    };
    for (const { diff, afterIndex, beforeIndex, moved, pairedBy } of items) {
      if (diff.kind === "same" && moved === undefined && !this.#verbose) {
        hidden++;
        continue;
      }
      flush();
      const first = this.lines.length;
      this.diff("", diff, depth, `${path}[${afterIndex ?? beforeIndex ?? 0}]`, ",");
      const notes = [
        ...(moved === true ? [`moved from position ${(beforeIndex ?? 0) + 1}`] : []),
        ...(this.#pairing && pairedBy !== undefined && diff.kind !== "same"
          ? [`paired by ${pairedBy}`]
          : []),
      ];
      const line = this.lines[first];
      if (line !== undefined && notes.length > 0) {
        this.lines[first] = { ...line, note: [line.note, ...notes].filter(Boolean).join(", ") };
      }
    }
    flush();
  }

  #hunks(hunks: readonly TextHunk[], depth: number): void {
    for (const { skipped, lines } of hunks) {
      this.#hidden(skipped, "line", depth);
      for (const { sign, text } of lines) this.#add(depth, sign, visibleText(text));
    }
  }

  #hidden(count: number, what: string, depth: number): void {
    if (count === 0) return;
    this.#add(depth, " ", "", `(${count} unchanged ${what}${count === 1 ? "" : "s"} hidden)`);
  }
}

/** Characters of the longest name. */
function widest(members: readonly { readonly name: string }[]): number {
  return members.reduce((width, { name }) => Math.max(width, nameText(name).length), 0);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function isNothing({ kind }: Shown): boolean {
  return kind === "null";
}

/** A member that changes from nothing to null is no change to a reader. */
function isVisible(diff: Diff, verbose: boolean): boolean {
  if (diff.kind === "same") return verbose && !isNothing(diff.value);
  if (diff.kind === "add" || diff.kind === "remove") return verbose || !isNothing(diff.value);
  return true;
}

function isInline(value: Shown): boolean {
  switch (value.kind) {
    case "string":
      return !value.text.includes("\n") && documentInText(value.text) === undefined;
    case "object":
    case "map":
      return value.members.length === 0;
    case "list":
    case "set":
      return value.items.length === 0;
    case "null":
    case "number":
    case "bool":
    case "unknown":
    case "secret":
    case "omitted":
    default:
      return true;
  }
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
