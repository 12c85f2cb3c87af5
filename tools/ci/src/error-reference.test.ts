import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { errorReference } from "./error-reference.ts";

const ROOT = join(import.meta.dirname, "../../..");

function codesOf(page: string): readonly string[] {
  return Array.from(page.matchAll(/^\| `(\w+)`/gm), ([, code = ""]) => code);
}

it("the page of error codes has those of all packages and of the server, and no others", async () => {
  const written = codesOf(await errorReference(ROOT));
  expect(written).toContain("STORAGE_NOT_FOUND");
  expect(written).toContain("self_approval");
  expect(codesOf(readFileSync(join(ROOT, "docs/error-codes.md"), "utf8"))).toEqual(written);
});
