import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ModuleCache } from "./module-cache.ts";

/** A folder with content, as an installation left it that was killed. */
function leftover(path: string, ageHours: number): void {
  mkdirSync(join(path, "content"), { recursive: true });
  writeFileSync(join(path, "content/main.tf"), "");
  const then = new Date(Date.now() - ageHours * 3_600_000);
  utimesSync(path, then, then);
}

it("removes what killed installations left, and nothing of those that may still run", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "module-cache-"));
  onTestFinished(() => scratch.remove());
  const root = join(scratch.path, "cache");
  const modules = join(scratch.path, "work/modules");
  leftover(join(root, ".incoming-old000"), 48);
  leftover(join(root, ".incoming-new000"), 1);
  leftover(join(root, ".incoming/old000"), 48);
  leftover(join(root, ".incoming/new000"), 1);
  leftover(join(modules, "m.0123456789ab.partial"), 48);
  leftover(join(modules, "m.0123456789ab.old"), 48);
  leftover(join(modules, "m.ba9876543210.partial"), 1);
  leftover(join(modules, "other"), 48);
  const cache = new ModuleCache(root);
  const found = await cache.add(async (folder) => {
    writeFileSync(join(folder, "main.tf"), "# a module");
    return Promise.resolve(folder);
  });
  expect(await cache.copy(found, join(modules, "m"))).toBe(true);
  expect(readdirSync(root).toSorted()).toEqual([".incoming", ".incoming-new000", "packages"]);
  expect(readdirSync(join(root, ".incoming"))).toEqual(["new000"]);
  expect(readdirSync(modules).toSorted()).toEqual(["m", "m.ba9876543210.partial", "other"]);
});

it("keeps a package as it is seen by others, and what comes in to itself", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "module-cache-"));
  onTestFinished(() => scratch.remove());
  const root = join(scratch.path, "cache");
  const cache = new ModuleCache(root);
  const modes: number[] = [];
  const found = await cache.add(async (folder) => {
    modes.push(statSync(join(folder, "..")).mode & 0o777);
    mkdirSync(join(folder, "inner"));
    writeFileSync(join(folder, "inner/main.tf"), "# the package");
    writeFileSync(join(folder, "other"), "");
    return Promise.resolve(join(folder, "inner"));
  });
  mkdirSync(join(scratch.path, "plain"));
  expect(modes).toEqual([0o700]);
  expect(statSync(found.path).mode).toBe(statSync(join(scratch.path, "plain")).mode);
  expect(readdirSync(found.path)).toEqual(["main.tf"]);
  expect(readdirSync(join(root, ".incoming"))).toEqual([]);
});
