import type { Diagnostic } from "./diagnostic.ts";
import { graphemeCount } from "./grapheme.ts";
import { diagnosticSnippet, type Snippet } from "./snippet.ts";

/** How problems are written to a terminal. */
export interface TerminalOptions {
  /** Whether to use ANSI colours. @default false */
  readonly color?: boolean;
  /** Width at which text is wrapped; source lines never are. @default 78 */
  readonly width?: number;
}

const STYLES = { bold: "1", underline: "4", red: "31", yellow: "33" } as const;

/**
 * Renders a diagnostic for a terminal: what, where, the lines of source with the subject marked, the values
 * of its references, and the explanation. Control characters in texts and in the source are shown
 * as symbols, so that a template cannot send commands to the terminal. Ends with a line feed.
 */
export function renderDiagnostic(diagnostic: Diagnostic, options: TerminalOptions = {}): string {
  const { color = false, width = 78 } = options;
  const paint = (style: keyof typeof STYLES, text: string): string =>
    color && text !== "" ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
  const tone = diagnostic.severity === "error" ? "red" : "yellow";
  const label = diagnostic.severity === "error" ? "Error: " : "Warning: ";
  const [summary = "", ...more] = wrap(label + visible(diagnostic.summary), width - 2);
  const lines = [
    `${paint(tone, label)}${paint("bold", summary.slice(label.length))}`,
    ...more.map((line) => paint("bold", line)),
    "",
  ];
  const snippet = diagnosticSnippet(diagnostic);
  const { subject, address } = diagnostic;
  if (address !== undefined) lines.push(`  with ${visible(address)},`);
  if (subject !== undefined) {
    const { filename, start } = subject.source.locate(subject.start, subject.end);
    const context = snippet?.context === undefined ? "" : `, in ${visible(snippet.context)}`;
    lines.push(`  on ${visible(filename)} line ${start.line}${context}:`);
  }
  if (snippet !== undefined) {
    lines.push(...sourceLines(snippet, color, (text) => paint("underline", text)));
  }
  if (address !== undefined || subject !== undefined) lines.push("");
  const { values = [], call } = diagnostic;
  if (values.length > 0 || call !== undefined) {
    lines.splice(lines.length - 1, 0, "    ├────────────────");
    const facts = values.map(
      (value) => `${paint("bold", visible(value.traversal))} ${visible(value.statement)}`,
    );
    if (call !== undefined) facts.unshift(`while calling ${visible(call.signature)}`);
    lines.splice(lines.length - 1, 0, ...facts.map((fact) => `    │ ${fact}`));
  }
  lines.push(...wrap(visible(diagnostic.detail), width - 2));
  const bar = paint(tone, "│");
  const body = lines.map((line) => (line === "" ? bar : `${bar} ${line}`));
  return `${[paint(tone, "╷"), ...body, paint(tone, "╵")].join("\n")}\n`;
}

/** Numbered source lines with the subject marked: underlined, or in monochrome by a line below. */
function sourceLines(
  snippet: Snippet,
  color: boolean,
  underline: (text: string) => string,
): string[] {
  const last = snippet.startLine + snippet.lines.length - 1;
  const gutter = Math.max(4, String(last).length + 2);
  const out: string[] = [];
  let offset = 0;
  for (const [index, line] of snippet.lines.entries()) {
    const number = `${String(snippet.startLine + index).padStart(gutter)}: `;
    const from = Math.min(Math.max(snippet.highlightStart - offset, 0), line.length);
    const to = Math.min(Math.max(snippet.highlightEnd - offset, 0), line.length);
    const marked = visible(line.slice(from, to));
    const before = visible(line.slice(0, from));
    out.push(number + before + (color ? underline(marked) : marked) + visible(line.slice(to)));
    const holdsSubject =
      snippet.highlightStart - offset <= line.length && snippet.highlightEnd >= offset;
    if (!color && holdsSubject && snippet.lines.length === 1) {
      const width = Math.max(1, graphemeCount(marked));
      out.push(" ".repeat(number.length + graphemeCount(before)) + "^".repeat(width));
    }
    offset += line.length + 1;
  }
  return out;
}

/** Makes control characters visible; tabs become spaces, line feeds stay. */
function visible(text: string): string {
  return text
    .replaceAll("\t", "    ")
    .replace(/\p{Cc}/gu, (char) => {
      if (char === "\n") return char;
      const code = char.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
    })
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** Wraps prose at spaces. Lines that begin with a space are examples and stay as they are. */
function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    if (paragraph.startsWith(" ") || graphemeCount(paragraph) <= width) return [paragraph];
    const lines: string[] = [];
    let current = "";
    for (const word of paragraph.split(" ")) {
      const longer = current === "" ? word : `${current} ${word}`;
      if (current !== "" && graphemeCount(longer) > width) {
        lines.push(current);
        current = word;
      } else {
        current = longer;
      }
    }
    return [...lines, current];
  });
}
