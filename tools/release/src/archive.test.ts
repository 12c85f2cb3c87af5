import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { expect, it } from "vitest";
import { writeArchive } from "./archive.ts";

it("gives equal bytes for equal files, however and whenever they were made", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-archive-"));
  const make = async (name: string, files: readonly string[], mode: number, mtime: number) => {
    const folder = join(scratch.path, name);
    mkdirSync(join(folder, "b"), { recursive: true, mode });
    for (const file of files) {
      writeFileSync(join(folder, file), `content of ${file}`);
      chmodSync(join(folder, file), file === "run" ? mode | 0o111 : mode & 0o666);
      utimesSync(join(folder, file), mtime, mtime);
    }
    const output = join(scratch.path, `${name}.tar.gz`);
    await writeArchive({ folder, output, time: new Date("2026-01-02T03:04:05Z") });
    return output;
  };
  const first = await make("first", ["a", "b/c", "run"], 0o755, 1000);
  const second = await make("second", ["run", "b/c", "a"], 0o700, 2000);
  const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
  expect(digest(second)).toBe(digest(first));
  const list = await requireCommand(["tar", "--list", "--verbose", "--utc", "--file", first]);
  expect(list).toMatch(/^-rwxr-xr-x 0\/0 .* 2026-01-02 03:04 \.\/run$/m);
});
