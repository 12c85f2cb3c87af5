import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCorpus } from "./testing/corpus.ts";
import { recordEntry } from "./testing/record-corpus.ts";
import { requireTerraform } from "./testing/terraform-command.ts";

const file = join(import.meta.dirname, "../fixtures/own-corpus.jsonl");

/** Every how many entries are recorded anew; the soak takes them all. */
const STRIDE = Math.max(1, Math.round(40 / Number(process.env.STACKWRIGHT_RUNS ?? 1)));

describe("the recorded corpus", () => {
  it("is what the command answers", { timeout: 1_800_000 }, async (context) => {
    const terraform = requireTerraform(context);
    for (const [index, entry] of readCorpus(file).entries()) {
      if (index % STRIDE !== 0) continue;
      const { id, category, expr } = entry;
      expect(await recordEntry(terraform, id, category, expr)).toEqual(entry);
    }
  });
});
