import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { unpackModule } from "./module-archive.ts";
import { hashModuleTree } from "./module-tree.ts";
import { unpackTar } from "./unpack-tar.ts";

async function scratch(): Promise<string> {
  const folder = await mkdtempDisposable(join(tmpdir(), "module-archive-"));
  onTestFinished(() => folder.remove());
  return folder.path;
}

/** One entry of a tar archive. */
function entry(name: string, content: string, type = "0", size = octal(content.length)): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write(size, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, Buffer.from(content), padding]);
}

function octal(size: number): string {
  return `${size.toString(8).padStart(11, "0")}\0`;
}

const LIMITS = { limits: { maxBytes: 10_000, maxFiles: 10 } };
const BIG = entry("big", "0".repeat(20_000));

it.each([
  ["below zero", [entry("x", "20 size=-5120000000\n", "x"), entry("a", ""), BIG]],
  ["that is no number", [entry("x", "12 size=no!\n", "x"), entry("a", ""), BIG]],
  ["that is no octal number", [entry("a", "", "0", "zz"), BIG]],
])("does not lose the limit by a size %s", async (_name, parts) => {
  const folder = await scratch();
  await expect(unpackTar(Readable.from([Buffer.concat(parts)]), folder, LIMITS)).rejects.toThrow(
    "a size in it is invalid",
  );
});

it("does not read without end what follows an archive", async () => {
  const endless = Readable.from(
    (function* () {
      yield Buffer.concat([entry("a", "a"), Buffer.alloc(1024)]);
      for (let part = 0; part < 1000; part += 1) yield Buffer.alloc(1024);
      throw new Error("it was read to its end");
    })(),
  );
  await expect(unpackTar(endless, await scratch(), LIMITS)).rejects.toThrow("follow its end");
});

it("refuses an archive of xz that is cut off between two files", async () => {
  const folder = await scratch();
  // Without the check of the end the first of two independent blocks would be the whole package.
  const first = execFileSync("xz", ["-c"], { input: entry("a.tf", "a") });
  const second = execFileSync("xz", ["-c"], { input: entry("b.tf", "b") });
  const whole = Buffer.concat([first, second]);
  writeFileSync(join(folder, "whole"), whole);
  await unpackModule(join(folder, "whole"), "tar.xz", join(folder, "one"));
  expect(readFileSync(join(folder, "one/b.tf"), "utf8")).toBe("b");
  writeFileSync(join(folder, "cut"), whole.subarray(0, first.length + 16));
  await expect(
    unpackModule(join(folder, "cut"), "tar.xz", join(folder, "two")),
  ).rejects.toMatchObject({ message: expect.stringContaining("is damaged") });
});

it.each<["tar.gz" | "tar.xz" | "zip", Buffer]>([
  ["tar.gz", gzipSync("")],
  ["tar.gz", gzipSync(Buffer.alloc(1024))],
  ["tar.xz", execFileSync("xz", { input: Buffer.alloc(1024) })],
  // The record at the end of an archive without entries.
  ["zip", Buffer.concat([Buffer.from("PK\x05\x06"), Buffer.alloc(18)])],
])("refuses an archive of %s without files (%#)", async (kind, bytes) => {
  const folder = await scratch();
  const path = join(folder, "empty");
  writeFileSync(path, bytes);
  const given = kind === "tar.gz" ? [path, bytes] : [path];
  for (const [index, archive] of given.entries()) {
    await expect(unpackModule(archive, kind, join(folder, `${index}`))).rejects.toMatchObject({
      message: expect.stringContaining("The archive is empty."),
    });
  }
});

it("has no two packages with one hash", async () => {
  const folder = await scratch();
  const digest = createHash("sha256").update("two").digest("hex");
  await mkdir(join(folder, "p"));
  writeFileSync(join(folder, "p", `x\n${digest}  y`), "one");
  await expect(hashModuleTree(join(folder, "p"))).rejects.toThrow("line break");
});
