import { mkdir, mkdtempDisposable, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { packTarball, type TarballEntry } from "./pack-tarball.ts";
import { readTarball } from "./tarball.ts";

function entry(path: string, text: string, executable = false): TarballEntry {
  const bytes = Buffer.from(text);
  return {
    path,
    executable,
    size: bytes.length,
    content: async function* () {
      yield bytes.subarray(0, 3);
      yield bytes.subarray(3);
    },
  };
}

describe("packTarball", () => {
  it("packs what readTarball unpacks, whatever paths are called", async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "tarball-"));
    onTestFinished(() => scratch.remove());
    const long = `${"folder/".repeat(30)}file.tf`;
    const files = [
      entry("main.tf", "a".repeat(1500)),
      entry("empty.tf", ""),
      entry("bin/provider", "#!/bin/sh\n", true),
      entry(long, "long"),
      entry("ümläut.tf", "x".repeat(512)),
    ];
    const packed = await buffer(packTarball(files));
    const target = join(scratch.path, "unpacked");
    await mkdir(target);
    const summary = await readTarball(
      (async function* () {
        yield packed;
      })(),
      { directory: target },
    );
    expect(summary.files).toBe(5);
    expect(await readFile(join(target, long), "utf8")).toBe("long");
    expect((await readFile(join(target, "ümläut.tf"))).length).toBe(512);
    expect((await stat(join(target, "bin/provider"))).mode & 0o111).not.toBe(0);
    expect((await stat(join(target, "main.tf"))).mode & 0o111).toBe(0);
    expect(packed.equals(await buffer(packTarball(files)))).toBe(true);
  });

  it("fails where a file grew or shrank since it was listed", async () => {
    for (const size of [3, 5]) {
      const changed = { ...entry("main.tf", "abcd"), size };
      await expect(buffer(packTarball([changed]))).rejects.toMatchObject({
        code: "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
      });
    }
  });

  it("ends with the reason of its signal", async () => {
    const stop = AbortSignal.abort(new Error("stopped"));
    await expect(buffer(packTarball([entry("a", "b")], { signal: stop }))).rejects.toThrow(
      "stopped",
    );
  });
});
