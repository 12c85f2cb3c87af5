import { diffLines } from "@stackwright/plan-view";

/** Unchanged lines shown around a change. */
const CONTEXT = 3;

/** What changes between two texts, in the unified format of diff. Empty where they are equal. */
export function unifiedDiff(name: string, before: string, after: string): string {
  const steps = diffLines(before.split("\n"), after.split("\n"));
  const near = steps.map((_, index) =>
    steps.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== " "),
  );
  let old = 1;
  let now = 1;
  let hunk: { readonly old: number; readonly now: number; readonly lines: string[] } | undefined;
  const out: string[] = [];
  const flush = (): void => {
    if (hunk === undefined) return;
    const removed = hunk.lines.filter((line) => !line.startsWith("+")).length;
    const added = hunk.lines.filter((line) => !line.startsWith("-")).length;
    out.push(`@@ -${hunk.old},${removed} +${hunk.now},${added} @@`, ...hunk.lines);
    hunk = undefined;
  };
  for (const [index, step] of steps.entries()) {
    if (near[index] === true) {
      hunk ??= { old, now, lines: [] };
      hunk.lines.push(`${step.sign}${step.text}`);
    } else flush();
    if (step.sign !== "+") old++;
    if (step.sign !== "-") now++;
  }
  flush();
  return out.length === 0 ? "" : `--- old/${name}\n+++ new/${name}\n${out.join("\n")}\n`;
}
