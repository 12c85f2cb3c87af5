import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { CommandError } from "../command-error.ts";
import { readPlanFile, writePlanFile } from "./plan-file.ts";

const FILE = {
  stackwright_plan: 1,
  account: "acme",
  project: "web",
  stack: "one",
  digest: "a".repeat(64),
  created: "2026-01-01T00:00:00.000Z",
  store: "sqlite:data",
} as const;

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, 0, 1, "", "../x", "\u0000", [], {}, "a".repeat(70_000)),
  fc.jsonValue({ maxDepth: 2 }),
);
/** A plan file of which members are left out, replaced or added. */
const document = fc
  .tuple(
    fc.subarray(Object.keys(FILE)),
    fc.dictionary(fc.oneof(fc.constantFrom(...Object.keys(FILE)), fc.string()), odd, {
      maxKeys: 3,
    }),
  )
  .map(([names, changes]) => ({
    ...Object.fromEntries(Object.entries(FILE).filter(([name]) => names.includes(name))),
    ...changes,
  }));
const content = fc.oneof(
  { weight: 6, arbitrary: document.map((value) => JSON.stringify(value)) },
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("[".repeat(100_000), '{"a":'.repeat(100_000), ""),
);

it("is read with all of its members as texts, or refused as no plan file", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plan-file-"));
  const path = join(scratch.path, "one.plan");
  await fc.assert(
    fc.asyncProperty(content, async (text) => {
      await writeFile(path, text);
      try {
        const { stackwright_plan: version, store = "", ...rest } = await readPlanFile(path);
        expect(version).toBe(1);
        for (const name of ["account", "project", "stack", "digest", "created"] as const) {
          expect(typeof rest[name], name).toBe("string");
        }
        expect(typeof store).toBe("string");
      } catch (error) {
        expect(error).toBeInstanceOf(CommandError);
      }
    }),
  );
});

it("comes back as it was written, and is refused where it is larger than one can be", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plan-file-"));
  const path = join(scratch.path, "one.plan");
  await writePlanFile(path, FILE);
  expect(await readPlanFile(path)).toEqual(FILE);
  await writeFile(path, JSON.stringify({ ...FILE, more: "x".repeat(200_000) }));
  await expect(readPlanFile(path)).rejects.toThrow("is not a Stackwright plan file");
  await expect(readPlanFile("/dev/zero")).rejects.toBeInstanceOf(CommandError);
  await expect(readPlanFile(scratch.path)).rejects.toThrow("cannot be read");
});
