import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileRules, findInText } from "./prose-rules.ts";
import { storeBaseline } from "./store-baseline.ts";

const rules = compileRules([{ pattern: "widget", in: "S", use: "part" }]);
const hits = (count: number) =>
  findInText("a.ts", `const text = "${"widget ".repeat(count)}";`, rules);

/** What the file holds after storing so many words over a baseline, and what was refused. */
async function stored(baseline: Readonly<Record<string, number>>, count: number) {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "baseline-"));
  const path = join(scratch.path, "baseline.json");
  await writeFile(path, JSON.stringify(baseline));
  const refused = storeBaseline(path, hits(count));
  return { refused, file: JSON.parse(await readFile(path, "utf8")) as unknown };
}

describe("the baseline of flagged words", () => {
  it("takes a lower count and an equal one", async () => {
    expect(await stored({ "a.ts S": 2 }, 1)).toEqual({ refused: [], file: { "a.ts S": 1 } });
    expect(await stored({ "a.ts S": 2 }, 2)).toEqual({ refused: [], file: { "a.ts S": 2 } });
  });

  it("stays as it is where a count is higher, and says which words are too many", async () => {
    const { refused, file } = await stored({ "a.ts S": 1 }, 2);
    expect(file).toEqual({ "a.ts S": 1 });
    expect(refused).toHaveLength(2);
    expect(refused[0]).toContain('a.ts:1: "widget"');
  });

  it("takes no file that it does not have yet", async () => {
    expect((await stored({}, 1)).file).toEqual({});
  });
});
