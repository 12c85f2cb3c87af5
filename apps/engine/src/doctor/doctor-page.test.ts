import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FINDINGS } from "./finding.ts";

const PAGE = join(import.meta.dirname, "../../docs/doctor.md");

it("each finding is in the table of the page, and each one there exists", async () => {
  const page = await readFile(PAGE, "utf8");
  const [, section = ""] = page.split("\n## What it finds\n");
  const [table = ""] = section.split("\n## ");
  const rows = [...table.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, names = ""]) => names);
  const written = rows
    .flatMap((names) => [...names.matchAll(/`(\w+)`/g)])
    .map(([, name = ""]) => name);
  expect(written.toSorted()).toEqual(Object.keys(FINDINGS).toSorted());
});

it("the example of the page has the severity and the advice of its finding", async () => {
  const page = await readFile(PAGE, "utf8");
  const { severity, advice } = FINDINGS.step_unclaimed;
  expect(page).toContain(`\n${severity} step_unclaimed (`);
  expect(page).toContain(`\n  ${advice}\n`);
});
