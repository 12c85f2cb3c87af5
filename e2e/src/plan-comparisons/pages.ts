import type { Comparison } from "./comparison.ts";

/** Lines of a text that are shown at its beginning and at its end. */
const MAX_LINES = 80;
const END_LINES = 4;

/** A comparison with what both commands show. */
export interface PlannedComparison {
  readonly comparison: Comparison;
  /** The plan of the reference command, as text. */
  readonly reference: string;
  /** Ours, as text and as the comment of a pull request. */
  readonly view: string;
  readonly comment: string;
}

/** The texts of both commands, one below the other, with what each shows. */
export function comparisonsPage(planned: readonly PlannedComparison[]): string {
  const parts = planned.map(
    ({ comparison: { title, reference: theirs, ours, options = [] }, ...texts }, at) =>
      [
        `## ${at + 1}. ${title}`,
        ...(options.length > 0 ? [`With \`${options.join(" ")}\`.`] : []),
        `**terraform plan** (${linesOf(texts.reference)}): ${theirs}`,
        fenced(shortened(bodyOf(texts.reference))),
        `**stackwright** (${linesOf(texts.view)}): ${ours}`,
        fenced(texts.view),
      ].join("\n\n"),
  );
  return `# What plans show

The same ${planned.length} changes, planned by \`terraform\` and by \`stackwright\`, with what each text shows to a user who has to decide.
\`node e2e/src/plan-comparisons/main.ts\` plans all of them with both commands and writes this page; the texts are theirs. Ours is
\`stackwright show --view text\`, which the console and the comments of pull requests share: the [comments](pull-request-comments.md) of the
same plans. The lines of both are counted without empty ones.

${parts.join("\n\n")}
`;
}

/** The comments of pull requests, as they are written. */
export function commentsPage(planned: readonly PlannedComparison[]): string {
  const parts = planned.map(({ comparison, comment }, at) =>
    [`## ${at + 1}. ${comparison.title}`, fenced(comment, "markdown")].join("\n\n"),
  );
  return `# Comments of pull requests

What \`stackwright show --view markdown\` makes of the plans of [the comparisons](comparisons.md). A server writes the same into a pull request.

${parts.join("\n\n")}
`;
}

/** Without the legend of signs, which is the same in every plan, and the advice on how to go on. */
function bodyOf(text: string): string {
  return text
    .replace(/^[^]*?will perform the following actions:\n/m, "")
    .replace(/\n─{10,}[^]*$/, "")
    .replace(/\n(?:Saved the plan to: plan|To perform exactly these actions)[^]*$/, "");
}

/** The beginning and the end of a text that says the same again and again. */
function shortened(text: string): string {
  const lines = text.split("\n");
  const hidden = lines.length - MAX_LINES - END_LINES;
  if (hidden <= 0) return text;
  const middle = ["", `... ${hidden} lines more ...`, ""];
  return [...lines.slice(0, MAX_LINES), ...middle, ...lines.slice(-END_LINES)].join("\n");
}

function linesOf(text: string): string {
  const count = bodyOf(text)
    .split("\n")
    .filter((line) => line.trim() !== "").length;
  return count === 1 ? "1 line" : `${count} lines`;
}

/** A fence that is longer than any run of its characters in the text. What cannot be printed is shown as its code. */
function fenced(text: string, language = "text"): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const printable = text
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (one) =>
      one === "\n" ? one : `\\u{${one.codePointAt(0)?.toString(16)}}`,
    )
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
  return `${fence}${language}\n${printable}\n${fence}`;
}
