import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { errorReference } from "./error-reference.ts";

const ROOT = join(import.meta.dirname, "../../..");

function codesOf(page: string): readonly string[] {
  return Array.from(page.matchAll(/^\| `([A-Z0-9_]+)`/gm), ([, code = ""]) => code);
}

it("the page of error codes names none that no table has", async () => {
  const written = codesOf(await errorReference(ROOT));
  expect(written).toContain("STORAGE_NOT_FOUND");
  const page = codesOf(readFileSync(join(ROOT, "docs/error-codes.md"), "utf8"));
  expect(page.length).toBeGreaterThan(200);
  expect(page.filter((code) => !written.includes(code))).toEqual([]);
});
