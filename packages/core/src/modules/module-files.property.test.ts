import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EngineError } from "../errors.ts";
import { ModuleLock } from "./module-lock.ts";
import { readModuleManifest, writeModuleManifest } from "./module-manifest.ts";

const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("1.2.0", "a/b/c", "\\", '"'));
const locked = fc.record(
  { address: text, constraints: text, version: text, hash: text.filter((hash) => hash !== "") },
  { requiredKeys: ["address", "hash"] },
);
const damage = fc.array(
  fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.nat({ max: 9 }),
    fc.constantFrom("", '"', "}", "\n", "\\x", "{", "module", "hash = ", "[[[[", "null"),
  ),
  { minLength: 1, maxLength: 4 },
);

function damaged(before: string, changes: readonly (readonly [number, number, string])[]): string {
  return changes.reduce((rest, [share, length, insert]) => {
    const at = Math.floor(share * rest.length);
    return rest.slice(0, at) + insert + rest.slice(at + length);
  }, before);
}

describe("the lock file of modules", () => {
  it("is read or refused with its line, however it is damaged", () => {
    fc.assert(
      fc.property(fc.array(locked, { maxLength: 3 }), damage, (modules, changes) => {
        const file = ModuleLock.of(modules as never).toString();
        try {
          const lock = ModuleLock.parse(damaged(file, changes));
          expect(ModuleLock.parse(lock.toString()).toString()).toBe(lock.toString());
        } catch (error) {
          expect(error).toBeInstanceOf(EngineError);
          expect((error as EngineError).message).toMatch(
            /:\d+: the lock file of modules is damaged/,
          );
        }
      }),
    );
  });

  it("names the line of an escape that it does not have", () => {
    expect(() => ModuleLock.parse('module "a" {\n  hash = "\\x"\n}\n', "lock")).toThrow("lock:2:");
  });
});

describe("the manifest of modules", () => {
  it("is read or refused, however it is damaged", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "manifest-"));
    const record = fc.record({ key: text, source: text, dir: text });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 3 }), damage, async (records, changes) => {
        const path = join(scratch.path, "modules.json");
        await writeModuleManifest(scratch.path, records);
        const known = await readModuleManifest(scratch.path);
        expect(new Set(known.keys())).toEqual(new Set(records.map(({ key }) => key)));
        const file = JSON.stringify({
          Modules: records.map(({ key, source, dir }) => ({ Key: key, Source: source, Dir: dir })),
        });
        await writeFile(path, damaged(file, changes));
        try {
          expect(await readModuleManifest(scratch.path)).toBeInstanceOf(Map);
        } catch (error) {
          expect(error).toBeInstanceOf(EngineError);
        }
      }),
      { numRuns: 30 },
    );
  });
});
