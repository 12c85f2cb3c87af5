import type { ChangeView, PlanView } from "../model/plan-view.ts";
import {
  countsText,
  foldText,
  hasOutputChange,
  headText,
  reasonTexts,
  signOf,
} from "./change-head.ts";
import {
  bodyLines,
  type DiffLine,
  type LineOptions,
  type LineSign,
  namedLines,
} from "./diff-lines.ts";
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

/** How a view is written for a terminal. */
export interface TerminalViewOptions extends Pick<LineOptions, "verbose" | "pairing"> {
  /** Colours by escape sequences. @default false */
  readonly color?: boolean;
  /** Every change for itself. @default false */
  readonly unfolded?: boolean;
}

const COLORS: Readonly<Record<LineSign, string>> = { "+": "32", "-": "31", "~": "33", " ": "" };

/**
 * The view as text with the signs of Terraform, by risk, the highest first. Ends with a line feed. No text of a view is written
 * with control characters, so none can write escape sequences.
 */
export function renderTerminal(view: PlanView, options: TerminalViewOptions = {}): string {
  const paint = (code: string, text: string): string =>
    options.color === true && code !== "" ? `\u001B[${code}m${text}\u001B[0m` : text;
  const lineText = ({ depth, sign, text, note }: DiffLine): string => {
    const remark = note === undefined ? "" : paint("2", `${text === "" ? "" : " "}# ${note}`);
    return `${" ".repeat(6 + depth * 4)}${paint(COLORS[sign], sign)} ${text}${remark}`.trimEnd();
  };
  const changeText = (change: ChangeView, remark: readonly string[]): string => {
    const sign = signOf(change);
    const kind = change.mode === "data" ? "data" : "resource";
    const lines = bodyLines(change.body, { ...options, replacePaths: change.replacePaths });
    return [
      `  ${paint("1", `# ${headText(change)}`)}`,
      ...[...remark, ...reasonTexts(change)].map((text) => `  # (${text})`),
      `${" ".repeat(3 - sign.length)}${sign} ${kind} ${visibleText(`"${change.type}" "${change.name}"`)} {`,
      ...lines.map(lineText),
      "    }",
    ].join("\n");
  };
  const parts: string[] = [];
  const drift = shownDrift(view);
  if (drift.length > 0) {
    parts.push(
      paint("1", "Objects were changed outside of Stackwright:"),
      ...drift.map((one) =>
        [`  # ${driftText(one)}`, ...bodyLines(one.body, options).map(lineText)].join("\n"),
      ),
    );
  }
  if (view.rootCauses.length > 0) {
    const [first] = view.rootCauses;
    if (first !== undefined && first.explains > 3) {
      parts.push(visibleText(`${first.address} causes ${first.explains} other changes.`));
    }
  }
  for (const { entries } of view.groups) {
    for (const entry of entries) {
      const folded = entry.changes.length > 1 && options.unfolded !== true;
      const shown = folded ? entry.changes.slice(0, 1) : entry.changes;
      for (const position of shown) {
        const change = view.changes[position];
        if (change === undefined) continue;
        parts.push(changeText(change, folded ? [foldText(view, entry)] : []));
      }
    }
  }
  parts.push(
    isEmpty(view)
      ? noChangesText(view).replace(/^No changes\.?/, (text) => paint("1", text))
      : `${paint("1", "Plan:")} ${countsText(view.summary)}.`,
  );
  const moves = moveTexts(view);
  if (moves !== undefined) parts.push(listText(moves));
  const outputs = view.outputs.filter(hasOutputChange);
  if (outputs.length > 0) {
    const lines = outputs.flatMap(({ name, body }) => namedLines(name, body, options));
    parts.push(`Changes to outputs:\n${lines.map((line) => lineText(line).slice(4)).join("\n")}`);
  }
  for (const text of warningTexts(view)) parts.push(`${paint("33", "Warning:")} ${text}`);
  const [partial, stage] = [partialText(view), stageTexts(view)];
  if (partial !== undefined) parts.push(partial);
  if (stage !== undefined) parts.push(listText(stage));
  return `${parts.join("\n\n")}\n`;
}

function listText({ head, items, more }: Listed): string {
  const rest = more > 0 ? [`and ${more} more`] : [];
  return [head, ...[...items, ...rest].map((text) => `  ${text}`)].join("\n");
}
