import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

/** Where a rule applies: `S` string literals, `M` Markdown outside of code, `C` comments. */
type Place = "S" | "M" | "C";

interface ProseRule {
  /** Regular expression of whole words. */
  readonly pattern: string;
  /** Letters of {@link Place}. */
  readonly in: string;
  /** What to write instead. */
  readonly use: string;
}

/** A flagged word: where it is, and what to write instead. */
interface ProseHit {
  readonly file: string;
  readonly line: number;
  readonly place: Place;
  readonly word: string;
  readonly sentence: string;
  readonly use: string;
}

/** Files whose texts are not ours to choose: generated, recorded, compared with another tool's. */
const EXCLUDED = [
  /(^|\/)gen\//,
  /(^|\/)fixtures\//,
  /\.test(-d)?\.ts$/,
  /(^|\/)testing\//,
  /(^|\/)(vectors|oracle|conformance|scenarios|acceptance)\//,
  /^e2e\/(cases|formats)\//,
  /^tools\/cty-vectors\//,
  /^docs\/(soak|adr)\//,
  /^bench\//,
  /CHANGELOG\.md$/,
  /^\.changeset\//,
];

interface CompiledRule extends ProseRule {
  readonly expression: RegExp;
}

/** Every flagged word of the tracked TypeScript and Markdown files. */
export function findProse(root: string): ProseHit[] {
  const rules = compileRules(
    JSON.parse(readFileSync(join(root, "tools/ci/prose-rules.json"), "utf8")) as ProseRule[],
  );
  const tracked = execFileSync("git", ["ls-files", "-z", "*.ts", "*.md"], { cwd: root })
    .toString()
    .split("\0")
    .filter((file) => file !== "" && !EXCLUDED.some((pattern) => pattern.test(file)));
  return tracked.flatMap((file) => findInText(file, readFileSync(join(root, file), "utf8"), rules));
}

export function compileRules(rules: readonly ProseRule[]): CompiledRule[] {
  return rules.map((rule) => ({
    ...rule,
    expression: new RegExp(`(?<![\\w-])(?:${rule.pattern})(?![\\w-])`, "gi"),
  }));
}

/** The flagged words of one file, by the end of its name. */
export function findInText(file: string, text: string, rules: readonly CompiledRule[]): ProseHit[] {
  const pieces = file.endsWith(".md") ? markdownPieces(text) : sourcePieces(file, text);
  return pieces.flatMap(({ place, start, text: sentence }) =>
    rules
      .filter((rule) => rule.in.includes(place))
      .flatMap((rule) =>
        [...sentence.matchAll(rule.expression)].map((match) => ({
          file,
          line: text.slice(0, start + match.index).split("\n").length,
          place,
          word: match[0],
          sentence: sentence.slice(Math.max(0, match.index - 40), match.index + 60).trim(),
          use: rule.use,
        })),
      ),
  );
}

interface Piece {
  readonly place: Place;
  readonly start: number;
  readonly text: string;
}

/** Prose of a page: code, whether fenced or inline, and targets of links become blanks of the same length. */
function markdownPieces(text: string): Piece[] {
  const blank = (match: string) => match.replace(/[^\n]/g, " ");
  const prose = text
    .replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1/gm, blank)
    .replace(/`[^`\n]*`/g, blank)
    .replace(/\]\([^)\n]*\)/g, blank);
  return [{ place: "M", start: 0, text: prose }];
}

/** Strings with a blank in them and comments; no import paths, no keys, no SQL. */
function sourcePieces(file: string, text: string): Piece[] {
  const { program, comments } = parseSync(file, text);
  const pieces: Piece[] = comments.map(({ start, value }) => ({ place: "C", start, text: value }));
  const add = (start: number, value: string): void => {
    if (
      !value.includes(" ") ||
      /^["`']?\s*(select|insert|update|delete|create|with)\b/i.test(value)
    )
      return;
    pieces.push({ place: "S", start, text: value });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === "string") add(node.start, text.slice(node.start, node.end));
    },
    TemplateElement: (node) => add(node.start, text.slice(node.start, node.end)),
  }).visit(program);
  return pieces;
}

/** Number of flagged words per file and place, such as `packages/krt/README.md M`. */
export type ProseCounts = Readonly<Record<string, number>>;

export function countProse(hits: readonly ProseHit[]): ProseCounts {
  const counts: Record<string, number> = {};
  for (const { file, place } of hits) {
    // Comments are reviewed, not enforced.
    if (place === "C") continue;
    const key = `${file} ${place}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Where a file has more flagged words than the baseline allows: each of its hits as a line. */
export function proseProblems(hits: readonly ProseHit[], baseline: ProseCounts): string[] {
  const counts = countProse(hits);
  return Object.entries(counts)
    .filter(([key, count]) => count > (baseline[key] ?? 0))
    .flatMap(([key]) =>
      hits
        .filter(({ file, place }) => `${file} ${place}` === key)
        .map(
          ({ file, line, word, sentence, use }) =>
            `${file}:${line}: "${word}" in "${sentence.replaceAll(/\s+/g, " ")}"; use: ${use}`,
        ),
    );
}
