import type { ChangeView, GroupEntry, PlanView } from "../model/plan-view.ts";
import {
  countsText,
  foldText,
  hasOutputChange,
  headText,
  reasonTexts,
  signOf,
} from "./change-head.ts";
import { bodyLines, type DiffLine, namedLines } from "./diff-lines.ts";
import {
  driftText,
  isEmpty,
  type Listed,
  moveTexts,
  noChangesText,
  partialText,
  shownDrift,
  stageTexts,
  warningTexts,
} from "./plan-notes.ts";
import { visibleText } from "./value-text.ts";

/** How a view is written as Markdown. */
export interface MarkdownOptions {
  /** Bytes of the text at most, at least 1,000. @default 60,000 */
  readonly limitBytes?: number;
  /** Address of the whole plan, named where something is left out. */
  readonly link?: string;
  /** The heading. @default the id of the stack */
  readonly title?: string;
}

const DEFAULT_LIMIT = 60_000;
const SMALLEST_LIMIT = 1_000;
/** Bytes for the line about what is left out; a longer link is not written. */
const TAIL = 400;

/**
 * The view as Markdown for a comment: summary, what can lose data, then changes by risk as far as they fit. Never longer than the
 * limit; no code fence or `details` is ever left open. Texts of providers are escaped: no mention, no link, no HTML of theirs works.
 */
export function renderMarkdown(view: PlanView, options: MarkdownOptions = {}): string {
  const limit = Math.max(SMALLEST_LIMIT, options.limitBytes ?? DEFAULT_LIMIT);
  const headed = (characters: number): string =>
    `### ${escape(cut(options.title ?? view.stack, characters))}: ${countsText(view.summary)}\n`;
  // Escaped, a character has up to twelve bytes.
  const heading = bytes(headed(200)) <= SMALLEST_LIMIT - TAIL - 100 ? headed(200) : headed(32);
  const blocks = [...parts(view)];
  const budget = new Budget(limit - bytes(heading) - TAIL);
  const written: string[] = [];
  let omitted = 0;
  for (const { text, changes } of blocks) {
    if (budget.take(text)) written.push(text);
    else omitted += changes;
  }
  if (omitted > 0) {
    const link = options.link === undefined ? "" : encodeLink(options.link);
    const where = link === "" || bytes(link) > TAIL - 100 ? "" : `; the whole plan: <${link}>`;
    written.push(`${omitted} more ${omitted === 1 ? "change" : "changes"} not shown${where}\n`);
  }
  return [heading, ...written].join("\n");
}

/** A piece of text that is shown as a whole or not at all. */
interface Block {
  readonly text: string;
  /** Changes that are missing where it is left out. */
  readonly changes: number;
}

function* parts(view: PlanView): Generator<Block, void> {
  if (isEmpty(view)) yield { text: `${noChangesText(view)}\n`, changes: 0 };
  const [partial, stage, moves] = [partialText(view), stageTexts(view), moveTexts(view)];
  if (partial !== undefined) yield { text: `> ${partial}\n`, changes: 0 };
  if (stage !== undefined) yield* listBlocks(stage);
  if (moves !== undefined) yield* listBlocks(moves);
  const losing = view.groups.find(({ risk }) => risk === "data-loss");
  if (losing !== undefined) {
    const named = losing.entries
      .flatMap(({ changes }) => changes)
      .map((position) => view.changes[position])
      .filter((change) => change !== undefined);
    const list = named.slice(0, 10).map(({ address, action }) => `${code(address)} (${action})`);
    const more = named.length > 10 ? ` and ${named.length - 10} more` : "";
    const count = `${named.length} ${named.length === 1 ? "change" : "changes"}`;
    yield { text: `> **${count} can lose data:** ${list.join(", ")}${more}\n`, changes: 0 };
  }
  const causes = view.rootCauses.filter(({ explains }) => explains > 1).slice(0, 5);
  if (causes.length > 0) {
    const list = causes.map(({ address, explains }) => `${code(address)} (${explains})`);
    yield { text: `Changes that cause others: ${list.join(", ")}\n`, changes: 0 };
  }
  for (const text of warningTexts(view)) {
    yield { text: `> **Warning:** ${escape(cut(text, 500))}\n`, changes: 0 };
  }
  for (const drift of shownDrift(view)) {
    const summary = `outside: ${escape(cut(driftText(drift), 300))}`;
    yield { text: details(summary, fence(bodyLines(drift.body)), false), changes: 0 };
  }
  for (const { risk, entries } of view.groups) {
    const open = risk === "data-loss" || risk === "high";
    if (risk === "ordinary") {
      const creates = entries.filter((entry) => isPlainCreate(view, entry));
      yield* entries
        .filter((entry) => !creates.includes(entry))
        .map((entry) => entryBlock(view, entry, open));
      if (creates.length > 0) yield createTable(view, creates);
    } else yield* entries.map((entry) => entryBlock(view, entry, open));
  }
  const outputs = view.outputs.filter(hasOutputChange);
  if (outputs.length > 0) {
    const lines = outputs.flatMap(({ name, body }) => namedLines(name, body));
    yield { text: details("Outputs", fence(lines), false), changes: 0 };
  }
}

/** The sentence for itself, as it fits where the list does not. */
function* listBlocks({ head, items, more }: Listed): Generator<Block, void> {
  yield { text: `> ${head}\n`, changes: 0 };
  const rest = more > 0 ? [`- and ${more} more`] : [];
  const lines = [...items.map((text) => `- ${escape(cut(text, 400))}`), ...rest];
  yield { text: `${lines.join("\n")}\n`, changes: 0 };
}

/** A create that its address tells enough of: no provisioner runs with it, and nothing is imported. */
function isPlainCreate(view: PlanView, { changes }: GroupEntry): boolean {
  const change = view.changes[changes[0] ?? -1];
  return (
    change?.action === "create" &&
    change.provisioners === undefined &&
    change.importing === undefined
  );
}

function entryBlock(view: PlanView, entry: GroupEntry, open: boolean): Block {
  const change = view.changes[entry.changes[0] ?? -1] as ChangeView;
  const [reason, ...others] = reasonTexts(change);
  const why = reason === undefined ? "" : ` — ${escape(cut(reason, 200))}`;
  const folded = entry.changes.length > 1 ? ` (${escape(cut(foldText(view, entry), 300))})` : "";
  const summary = `${signOf(change)} ${escape(cut(headText(change), 300))}${folded}${why}`;
  const lines = bodyLines(change.body, { replacePaths: change.replacePaths });
  const body = [
    ...(others.length > 0 ? [others.map((text) => `- ${escape(cut(text, 300))}`).join("\n")] : []),
    fence(lines),
  ].join("\n\n");
  return { text: details(summary, body, open), changes: entry.changes.length };
}

/** Creates as a table: their attributes are all new, so names and numbers say more than bodies. */
function createTable(view: PlanView, creates: readonly GroupEntry[]): Block {
  const rows = creates.map((entry) => {
    const change = view.changes[entry.changes[0] ?? -1] as ChangeView;
    const count = entry.changes.length;
    return `| ${code(change.address)} | ${count === 1 ? "" : `${count} alike`} |`;
  });
  const count = creates.reduce((sum, { changes }) => sum + changes.length, 0);
  const shown = rows.slice(0, 200);
  const more = rows.length > shown.length ? [`| ${rows.length - shown.length} more | |`] : [];
  const table = ["| create | |", "|---|---|", ...shown, ...more].join("\n");
  return { text: details(`+ ${count} to add`, table, false), changes: count };
}

function details(summary: string, body: string, open: boolean): string {
  return `<details${open ? " open" : ""}><summary>${summary}</summary>\n\n${body}\n\n</details>\n`;
}

/** Lines as a diff in a fence that is longer than any run of back-ticks inside. */
function fence(lines: readonly DiffLine[]): string {
  const text = lines
    .map(({ depth, sign, text: line, note }) => {
      const first = sign === "~" ? "!" : sign;
      const remark = note === undefined ? "" : `${line === "" ? "" : " "}# ${note}`;
      return `${first} ${"  ".repeat(depth)}${line}${remark}`.trimEnd();
    })
    .join("\n");
  let longest = 2;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const ticks = "`".repeat(longest + 1);
  return `${ticks}diff\n${text}\n${ticks}`;
}

/** A text without a meaning in Markdown or HTML; mentions and numbers of issues are broken up. */
function escape(text: string): string {
  return (
    visibleText(text)
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll(
        /[\\`*[\]#|~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu,
        (found) => `&#${found.charCodeAt(0)};`,
      )
      .replaceAll("@", "&#64;")
      // Mentions and numbers of issues are searched for in the rendered text: a space without width ends them.
      .replaceAll(/(?:&#64;|&#35;|\bGH-)(?=[\p{L}\p{N}])/giu, "$&&#8203;")
      .replaceAll(/:\/\//g, "&#58;//")
      .replaceAll(/www\./gi, "www&#46;")
  );
}

/** A text as inline code: back-ticks and pipes cannot be escaped in it, so it is HTML. */
function code(text: string): string {
  return `<code>${escape(cut(text, 300))}</code>`;
}

function cut(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

function encodeLink(link: string): string {
  return link.replaceAll(/[<>\s]/g, (found) => encodeURIComponent(found));
}

function bytes(text: string): number {
  let count = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    count += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1_0000 ? 3 : 4;
  }
  return count;
}

class Budget {
  #left: number;

  constructor(limit: number) {
    this.#left = limit;
  }

  /** Whether the text fits; if so it is paid for. */
  take(text: string): boolean {
    const size = bytes(text) + 1;
    if (size > this.#left) return false;
    this.#left -= size;
    return true;
  }
}
