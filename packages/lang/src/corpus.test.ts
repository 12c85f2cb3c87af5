import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type CorpusDifference,
  type CorpusEntry,
  compareEntry,
  readCorpus,
} from "./testing/corpus.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const differences = JSON.parse(
  readFileSync(join(FIXTURES, "corpus-differences.json"), "utf8"),
) as CorpusDifference[];
const reasons = new Map(differences.map(({ expr, reason }) => [expr, reason]));

/** Entries whose result differs without a reason, one line each. */
function unexplained(entries: readonly CorpusEntry[]): string[] {
  return entries.flatMap((entry) => {
    const difference = compareEntry(entry);
    return difference === undefined || reasons.has(entry.expr)
      ? []
      : [`${entry.id}: ${entry.expr} ${difference}`];
  });
}

/** The entry with another result. */
function altered(entry: CorpusEntry, index: number): CorpusEntry {
  if (entry.error) return { ...entry, error: false, type: "string", json: '"x"' };
  switch (index % 4) {
    case 0:
      return { ...entry, error: true };
    case 1:
      return { ...entry, type: `${entry.type} ` };
    case 2:
      return { ...entry, sensitive: entry.sensitive !== true };
    default:
      return entry.json === null || entry.json === undefined
        ? { ...entry, console: `${entry.console} ` }
        : { ...entry, json: `[${entry.json}]` };
  }
}

const corpora =
  process.env.LANG_CORPUS === undefined
    ? ["reference-corpus.jsonl", "own-corpus.jsonl"].map((name) => join(FIXTURES, name))
    : [process.env.LANG_CORPUS];

describe.each(corpora)("the corpus %s", (file) => {
  const entries = readCorpus(file);
  const categories = [...new Set(entries.map(({ category }) => category))];

  it("has entries", () => {
    expect(entries.length).toBeGreaterThan(0);
  });

  it.each(categories)("has the reference's results: %s", (category) => {
    expect(unexplained(entries.filter((entry) => entry.category === category))).toEqual([]);
  });

  it("fails when any result is altered", () => {
    const passing = entries.filter((entry) => compareEntry(entry) === undefined);
    const missed = passing
      .map(altered)
      .filter((entry) => compareEntry(entry) === undefined)
      .map(({ id }) => id);
    expect(missed).toEqual([]);
  });
});

describe("the list of differences", () => {
  it("gives a reason for each", () => {
    expect(differences.filter(({ reason }) => reason.trim().length < 20)).toEqual([]);
  });

  it.runIf(process.env.LANG_CORPUS === undefined)("holds nothing that does not differ", () => {
    const all = corpora.flatMap(readCorpus);
    const stale = differences.filter(({ expr }) => {
      const entry = all.find((candidate) => candidate.expr === expr);
      return entry === undefined || compareEntry(entry) === undefined;
    });
    expect(stale).toEqual([]);
  });
});
