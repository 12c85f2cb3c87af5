import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { groupBy } from "../../group-by.ts";
import { agreement } from "./agreement.ts";
import { type Answer, perform, type Request } from "./perform.ts";

const lines = readFileSync(join(import.meta.dirname, "../../../fixtures/go-cty.jsonl"), "utf8")
  .trimEnd()
  .split("\n");
const vectors: readonly (readonly [Request, Answer])[] = lines.map((line) => JSON.parse(line));
const operations = groupBy(vectors, ([request]) => request.op);

describe("recorded answers of go-cty", () => {
  it("are there in numbers, for every kind of question", () => {
    expect(vectors.length).toBeGreaterThan(3000);
    expect(operations.size).toBeGreaterThan(20);
  });

  it.each([...operations])("agree for %s", (_op, cases) => {
    const contradictions = cases.filter(([request, want]) => {
      return agreement(request, want, perform(request)) === undefined;
    });
    expect(contradictions.slice(0, 3)).toEqual([]);
  });

  it("agree literally, but for the listed differences", () => {
    const same = vectors.filter(
      ([request, want]) => agreement(request, want, perform(request)) === "same",
    );
    expect(same.length / vectors.length).toBeGreaterThan(0.97);
  });
});
