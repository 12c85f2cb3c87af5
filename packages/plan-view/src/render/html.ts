import type { ChangeView, PlanView } from "../model/plan-view.ts";
import {
  countsText,
  foldText,
  hasOutputChange,
  headText,
  reasonTexts,
  signOf,
} from "./change-head.ts";
import { bodyLines, type DiffLine, type LineSign, namedLines } from "./diff-lines.ts";
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

const CLASSES: Readonly<Record<LineSign, string>> = {
  "+": "add",
  "-": "remove",
  "~": "change",
  " ": "same",
};

/** How a view is written as HTML. */
export interface HtmlOptions {
  /** The heading. @default the id of the stack */
  readonly title?: string;
}

/**
 * The view as static HTML with classes, for mails and artefacts: no script, no style, no address to load. Every value is escaped,
 * so no element or attribute comes from one.
 */
export function renderHtml(view: PlanView, options: HtmlOptions = {}): string {
  const groups = view.groups.map(({ risk, entries }) => {
    const changes = entries.map((entry) => {
      const change = view.changes[entry.changes[0] ?? -1] as ChangeView;
      const folded = entry.changes.length > 1 ? [foldText(view, entry)] : [];
      return changeHtml(change, folded, risk === "data-loss" || risk === "high");
    });
    return `<section class="group ${escape(risk)}">\n${changes.join("\n")}\n</section>`;
  });
  const outputs = view.outputs
    .filter(hasOutputChange)
    .flatMap(({ name, body }) => namedLines(name, body));
  const drift = shownDrift(view).map(
    (one) => `<p>${escape(driftText(one))}</p>${pre(bodyLines(one.body))}`,
  );
  const [partial, stage, moves] = [partialText(view), stageTexts(view), moveTexts(view)];
  const notes = [
    ...(isEmpty(view) ? [noChangesText(view)] : []),
    ...(partial === undefined ? [] : [partial]),
    ...warningTexts(view).map((text) => `Warning: ${text}`),
  ];
  return [
    '<div class="plan-view">',
    `<h3>${escape(`${options.title ?? view.stack}: ${countsText(view.summary)}`)}</h3>`,
    ...notes.map((text) => `<p class="note">${escape(text)}</p>`),
    ...(stage === undefined ? [] : [listHtml("stage", stage)]),
    ...(moves === undefined ? [] : [listHtml("moves", moves)]),
    ...(drift.length > 0
      ? [`<section class="drift"><h4>Changed outside</h4>${drift.join("\n")}</section>`]
      : []),
    ...groups,
    ...(outputs.length > 0
      ? [`<section class="outputs"><h4>Outputs</h4>${pre(outputs)}</section>`]
      : []),
    "</div>\n",
  ].join("\n");
}

function changeHtml(change: ChangeView, folded: readonly string[], open: boolean): string {
  const reasons = [...folded, ...reasonTexts(change)].map((text) => `<li>${escape(text)}</li>`);
  const list = reasons.length > 0 ? `<ul class="reasons">${reasons.join("")}</ul>` : "";
  const lines = bodyLines(change.body, { replacePaths: change.replacePaths });
  return `<details class="change ${escape(change.action)}"${open ? " open" : ""}><summary><span class="sign">${escape(
    signOf(change),
  )}</span> ${escape(headText(change))}</summary>${list}${pre(lines)}</details>`;
}

function listHtml(name: string, { head, items, more }: Listed): string {
  const rest = more > 0 ? [`and ${more} more`] : [];
  const list = [...items, ...rest].map((text) => `<li>${escape(text)}</li>`).join("");
  return `<section class="${name}"><p class="note">${escape(head)}</p><ul>${list}</ul></section>`;
}

function pre(lines: readonly DiffLine[]): string {
  const html = lines.map(({ depth, sign, text, note }) => {
    const remark = note === undefined ? "" : ` <span class="note"># ${escape(note)}</span>`;
    return `<span class="${CLASSES[sign]}">${sign} ${"  ".repeat(depth)}${escape(text)}${remark}</span>`;
  });
  return `<pre>${html.join("\n")}</pre>`;
}

function escape(text: string): string {
  return visibleText(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
