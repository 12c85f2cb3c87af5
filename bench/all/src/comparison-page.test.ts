import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Figure } from "@stackwright-bench/figures";
import { expect, it } from "vitest";
import { ratioOf } from "./curves.ts";

const DOCS = join(import.meta.dirname, "../../../docs");
/** How far a sentence may be from what was recorded since: figures of one machine are recorded again and again. */
const MAY_DIFFER = 0.3;

it("the comparison names the ratios to the reference that are recorded", async () => {
  const path = join(DOCS, "benchmarks/figures.json");
  const { jobs } = JSON.parse(await readFile(path, "utf8")) as {
    readonly jobs: readonly { readonly figures: readonly Figure[] }[];
  };
  const recorded = (name: string): number => {
    const figure = jobs
      .flatMap(({ figures }) => figures)
      .find((one) => one.name === `${name} of terraform_data, time` && one.size === 1);
    return figure === undefined ? Number.NaN : ratioOf(figure);
  };
  const page = (await readFile(join(DOCS, "comparison.md"), "utf8")).replaceAll(/\s+/g, " ");
  const [, first, without, validate] =
    /a first plan takes ([\d.]+) times as long as that of `terraform`, a plan without changes ([\d.]+) times, and `validate` ([\d.]+) times/.exec(
      page,
    ) ?? [];
  for (const [said, name] of [
    [first, "first plan"],
    [without, "no-op plan"],
    [validate, "validate"],
  ] as const) {
    const difference = Math.abs(Number(said) - recorded(name));
    expect(difference, `${name}: ${said} and ${recorded(name)}`).toBeLessThan(MAY_DIFFER);
  }
});
