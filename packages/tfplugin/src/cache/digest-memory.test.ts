import {
  chmod,
  lstat,
  mkdir,
  mkdtempDisposable,
  readdir,
  rename,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashDirectory } from "@stackwright/provider-source";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDigestMemory } from "./digest-memory.ts";

/** A clock for which every file is old. */
const LATER = () => Date.now() + 60_000;

async function setUp(now: () => number = LATER) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "digests-"));
  onTestFinished(() => scratch.remove());
  const directory = join(scratch.path, "package");
  await mkdir(join(directory, "docs"), { recursive: true });
  const program = join(directory, "terraform-provider-a");
  await writeFile(program, "one", { mode: 0o755 });
  await writeFile(join(directory, "docs", "a"), "text");
  const folder = join(scratch.path, "memory");
  let computed = 0;
  const hash = async (path = directory) =>
    createDigestMemory(folder, now).hash(path, async () => {
      computed += 1;
      return hashDirectory(path);
    });
  return { scratch: scratch.path, directory, program, folder, hash, computed: () => computed };
}

/** Writes until the file system gives the change a time of its own. */
async function change(path: string, text: string): Promise<void> {
  const before = await lstat(path, { bigint: true });
  do await writeFile(path, text);
  while ((await lstat(path, { bigint: true })).ctimeNs === before.ctimeNs);
}

// Systems without owners of files remember nothing.
describe.runIf(process.getuid !== undefined)("a memory of hashes", () => {
  it("reads a package once", async () => {
    const { directory, hash, computed } = await setUp();
    const first = await hash();
    expect(await hash()).toBe(first);
    expect(first).toBe(await hashDirectory(directory));
    expect(computed()).toBe(1);
  });

  it("reads again what changed, also in place, with its size and its time of modification", async () => {
    const { program, directory, hash, computed } = await setUp();
    const first = await hash();
    const { atime, mtime } = await lstat(program);
    await change(program, "two");
    await utimes(program, atime, mtime);
    const second = await hash();
    expect(second).not.toBe(first);
    expect(second).toBe(await hashDirectory(directory));
    expect(computed()).toBe(2);
  });

  it("reads again where a file was replaced, added, removed or named otherwise", async () => {
    const { program, directory, hash, computed } = await setUp();
    await hash();
    await writeFile(`${program}.new`, "one", { mode: 0o755 });
    await hash();
    await rename(`${program}.new`, program);
    await hash();
    await rename(join(directory, "docs", "a"), join(directory, "docs", "b"));
    await hash();
    expect(computed()).toBe(4);
    expect(await hash()).toBe(await hashDirectory(directory));
    expect(computed()).toBe(4);
  });

  it("does not remember what changed just now", async () => {
    const { hash, computed } = await setUp(() => Date.now());
    await hash();
    await hash();
    expect(computed()).toBe(2);
  });

  it("does not remember what changes while it is read", async () => {
    const { directory, program, folder } = await setUp();
    const memory = createDigestMemory(folder, LATER);
    await memory.hash(directory, async () => {
      const hash = await hashDirectory(directory);
      await change(program, "two");
      return hash;
    });
    let computed = 0;
    const hash = await memory.hash(directory, async () => {
      computed += 1;
      return hashDirectory(directory);
    });
    expect(computed).toBe(1);
    expect(hash).toBe(await hashDirectory(directory));
  });

  it("does not remember files that others can write, or links to files", async () => {
    const { scratch, program, directory, hash, computed } = await setUp();
    await chmod(program, 0o777);
    await hash();
    await hash();
    expect(computed()).toBe(2);
    await chmod(program, 0o755);
    await writeFile(join(scratch, "elsewhere"), "x");
    await symlink(join(scratch, "elsewhere"), join(directory, "link"));
    await hash();
    await hash();
    expect(computed()).toBe(4);
  });

  it("knows a package by the folder that a link leads to, and not by the link", async () => {
    const { scratch, directory, program, hash, computed } = await setUp();
    const link = join(scratch, "link");
    await symlink(directory, link);
    const first = await hash(link);
    expect(await hash()).toBe(first);
    expect(computed()).toBe(1);
    await change(program, "two");
    expect(await hash(link)).not.toBe(first);
  });

  it.each(["", "{", "null", '{"path":1}', '{"path":"x","files":[],"hash":"h1:x"}'])(
    "reads the package where the memory is %j",
    async (text) => {
      const { folder, directory, hash } = await setUp();
      await hash();
      const [name = ""] = await readdir(folder);
      await writeFile(join(folder, name), text);
      expect(await hash()).toBe(await hashDirectory(directory));
    },
  );
});
