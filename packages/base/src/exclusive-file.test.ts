import type * as FileSystem from "node:fs/promises";
import { link, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { nameExclusively } from "./exclusive-file.ts";

vi.mock("node:fs/promises", async (load) => {
  const original = await load<typeof FileSystem>();
  return { ...original, link: vi.fn(original.link) };
});

describe.each([undefined, "EPERM", "ENOTSUP"])("a file system whose links fail with %s", (code) => {
  beforeEach(async () => {
    const { link: real } = await vi.importActual<typeof FileSystem>("node:fs/promises");
    vi.mocked(link).mockImplementation(async (from, to) => {
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      return real(from, to);
    });
  });

  it("gives a name to one of several files", async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "exclusive-file-"));
    onTestFinished(() => scratch.remove());
    const path = join(scratch.path, "name");
    const results = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const fresh = join(scratch.path, `fresh${n}`);
        await writeFile(fresh, `content ${n}`);
        return nameExclusively(fresh, path);
      }),
    );
    const winner = results.indexOf(true);
    expect(results.filter((won) => won)).toHaveLength(1);
    expect(await readFile(path, "utf8")).toBe(`content ${winner}`);
    expect(await readdir(scratch.path)).toEqual(["name"]);
  });
});

it("rejects where links fail for another reason", async () => {
  const error = Object.assign(new Error("EIO"), { code: "EIO" });
  vi.mocked(link).mockRejectedValue(error);
  const scratch = await mkdtempDisposable(join(tmpdir(), "exclusive-file-"));
  onTestFinished(() => scratch.remove());
  const fresh = join(scratch.path, "fresh");
  await writeFile(fresh, "content");
  await expect(nameExclusively(fresh, join(scratch.path, "name"))).rejects.toBe(error);
  expect(await readdir(scratch.path)).toEqual([]);
});
