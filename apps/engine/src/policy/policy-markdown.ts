import type { PolicyResult } from "@stackwright/proto/stackwright";
import { enforcementName } from "./policy-places.ts";
import { outcomeName } from "./policy-verdict.ts";

/** Characters of one cell. */
const CELL = 500;

/** What policies said about a plan, as a table in Markdown of at most so many bytes; empty where there is nothing to say. */
export function policyMarkdown({ sets, override }: PolicyResult, limitBytes: number): string {
  if (sets.length === 0) return "";
  const lines = ["", "", "| Policy set | Enforcement | Outcome |", "| --- | --- | --- |"];
  let left = limitBytes - 300;
  const add = (line: string): boolean => {
    left -= Buffer.byteLength(line) + 1;
    if (left >= 0) lines.push(line);
    return left >= 0;
  };
  const all = sets.flatMap((one) => [
    `| ${codeOf(one.set)} | ${enforcementName(one.enforcement)} | **${outcomeName(one)}**${one.error === "" ? "" : ` ${codeOf(one.error)}`} |`,
    ...one.findings.map(
      ({ message, address, isWarning }) =>
        `| | ${isWarning ? "warns" : "forbids"} | ${codeOf(message)}${address === "" ? "" : ` ${codeOf(address)}`} |`,
    ),
  ]);
  if (!all.every(add)) lines.push("| | | and more on the server |");
  if (override !== undefined) lines.push("", `Overridden by ${codeOf(override.actor)}.`);
  return lines.join("\n");
}

/** A text of others as code in a cell: nothing in it is Markdown, a mention, or the end of the cell. */
function codeOf(text: string): string {
  // What is not printed, and what changes the direction of the text.
  const clean = text.replaceAll(/\p{C}/gu, " ");
  const cut = clean.length > CELL ? `${clean.slice(0, CELL)}…` : clean;
  const ticks = "`".repeat(Math.max(0, ...[...cut.matchAll(/`+/g)].map(([run]) => run.length)) + 1);
  const escaped = cut.replaceAll("|", "\\|");
  return `${ticks} ${escaped} ${ticks}`;
}
