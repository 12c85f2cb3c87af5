import { expect, it } from "vitest";
import { type GeneratedCase, type GeneratedStep, renderItems } from "./configuration-tree.ts";
import { generateCase } from "./generate-case.ts";
import { reduceCase } from "./reduce-case.ts";

const step = (items: GeneratedStep["files"] extends ReadonlyMap<string, infer I> ? I : never) => ({
  mode: "apply" as const,
  files: new Map([["main.tf", items]]),
  stateEdits: [["taint", "a"]],
  targets: ["b"],
  replace: [],
});

const text = (test: GeneratedCase): string =>
  test.steps
    .flatMap(({ files }) => [...files.values()])
    .map((items) => renderItems(items))
    .join("");

it("leaves only what the difference needs", async () => {
  const original: GeneratedCase = {
    name: "x",
    needs: [],
    steps: [
      step(["one = 1"]),
      step([
        {
          open: "a {",
          items: ["b = 1", { open: "c {", items: ["bad = f(1, g([2, 3]))", "d = 2"] }],
        },
        { open: "e {", items: ["f = 1"] },
      ]),
    ],
  };
  const small = await reduceCase(
    original,
    async (smaller) => Promise.resolve(text(smaller).includes("bad = ")),
    { limit: 1000 },
  );
  expect(small.steps).toHaveLength(1);
  expect(text(small)).toBe("a {\n  c {\n    bad = 2\n  }\n}\n");
  expect(small.steps[0]).toMatchObject({ stateEdits: [], targets: [] });
});

it("tries at most so many cases", async () => {
  let tried = 0;
  await reduceCase(
    generateCase(3),
    async () => {
      tried += 1;
      return Promise.resolve(false);
    },
    { limit: 5 },
  );
  expect(tried).toBe(5);
});
