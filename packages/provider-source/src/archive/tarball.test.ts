import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { readTarball } from "./tarball.ts";

function scratch(): string {
  const folder = mkdtempDisposableSync(join(tmpdir(), "tarball-"));
  onTestFinished(() => folder.remove());
  return folder.path;
}

async function* bytes(content: Uint8Array, size = 700) {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

/** One entry as tar writes it, whatever is wrong with it. */
function entry(
  name: string,
  content = "",
  { type = "0", mode = "0000644", size = content.length } = {},
) {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write(`${mode}\0`, 100);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write("ustar\0", 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padded = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  padded.write(content);
  return Buffer.concat([header, padded]);
}

const archive = (...entries: Buffer[]) => gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));

describe("a gzip-compressed tar archive", () => {
  it("of the tar of this machine is unpacked, and has one digest however it was packed", async () => {
    const folder = scratch();
    const source = join(folder, "source");
    mkdirSync(join(source, "modules", "a"), { recursive: true });
    const long = `${"long-".repeat(30)}.tf`;
    writeFileSync(join(source, "main.tf"), "a".repeat(3000));
    writeFileSync(join(source, "modules", "a", long), "b");
    writeFileSync(join(source, "run.sh"), "c", { mode: 0o755 });
    const pack = (...args: string[]) => execFileSync("tar", ["-cz", "-C", source, ...args]);
    const target = join(folder, "target");
    mkdirSync(target);
    const summary = await readTarball(bytes(pack(".")), { directory: target });
    expect(summary).toMatchObject({ files: 3, totalBytes: 3002 });
    expect(readFileSync(join(target, "modules", "a", long), "utf8")).toBe("b");
    expect(statSync(join(target, "run.sh")).mode & 0o777).toBe(0o500);
    for (const again of [
      pack("run.sh", "modules", "main.tf"),
      pack("--format=posix", "."),
      pack("--format=gnu", "--mtime=2001-01-01", "."),
    ]) {
      expect((await readTarball(bytes(again))).digest).toBe(summary.digest);
    }
    writeFileSync(join(source, "main.tf"), "other");
    expect((await readTarball(bytes(pack(".")))).digest).not.toBe(summary.digest);
  });

  it("is unpacked as far as it is wanted, and checked as a whole", async () => {
    const folder = scratch();
    const packed = archive(entry("a/main.tf", "1"), entry("b/data", "2"));
    const unpacks = (path: string) => path.endsWith(".tf");
    const summary = await readTarball(bytes(packed), { directory: folder, unpacks });
    expect(summary).toEqual(await readTarball(bytes(packed)));
    expect(readFileSync(join(folder, "a", "main.tf"), "utf8")).toBe("1");
    expect(() => statSync(join(folder, "b"))).toThrow("ENOENT");
    const bad = archive(entry("a.tf", "1"), entry("../x", "2"));
    await expect(readTarball(bytes(bad), { directory: folder, unpacks })).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
    });
  });

  it.each([
    ["leads out", archive(entry("../x", "1")), "PATH_UNSAFE"],
    ["is absolute", archive(entry("/etc/passwd", "1")), "PATH_UNSAFE"],
    ["leads out behind a dot", archive(entry("./../x", "1")), "PATH_UNSAFE"],
    ["has a symbolic link", archive(entry("a", "", { type: "2" })), "ENTRY_REFUSED"],
    ["has a hard link", archive(entry("a", "", { type: "1" })), "ENTRY_REFUSED"],
    ["has a device", archive(entry("a", "", { type: "3" })), "ENTRY_REFUSED"],
    ["has one path twice", archive(entry("a", "1"), entry("a", "2")), "DUPLICATE"],
    ["has names that differ in case", archive(entry("a", "1"), entry("A", "2")), "DUPLICATE"],
    ["has a file below a file", archive(entry("a", "1"), entry("a/b", "2")), "DUPLICATE"],
    ["ends too early", gzipSync(entry("a", "1", { size: 4000 })), "MALFORMED"],
    ["is not gzip", Buffer.from("this is no archive at all"), "MALFORMED"],
    ["is cut off", archive(entry("a", "1".repeat(5000))).subarray(0, 40), "MALFORMED"],
    [
      "is a bomb",
      gzipSync(Buffer.concat([entry("a", "", { size: 2 ** 24 }), Buffer.alloc(2 ** 24)])),
      "LIMIT",
    ],
  ] as const)("that %s is refused, and leaves nothing outside", async (_, content, code) => {
    const folder = scratch();
    const directory = join(folder, "in");
    mkdirSync(directory);
    symlinkSync("/tmp", join(folder, "link"));
    await expect(readTarball(bytes(content), { directory })).rejects.toMatchObject({
      code: `PROVIDER_SOURCE_ARCHIVE_${code}`,
    });
    expect(() => statSync(join(folder, "x"))).toThrow("ENOENT");
  });

  it("with more than the limits allow is refused", async () => {
    const many = archive(...Array.from({ length: 12 }, (_, index) => entry(`f${index}`, "1")));
    for (const limits of [{ maxEntries: 10 }, { maxTotalBytes: 11 }]) {
      await expect(readTarball(bytes(many), { limits })).rejects.toMatchObject({
        code: "PROVIDER_SOURCE_ARCHIVE_LIMIT",
      });
    }
  });

  it.each(["x", "g", "L", "K"])("with too many headers of the type %s is refused", async (type) => {
    const content = type === "x" || type === "g" ? "11 path=ab\n" : "ab";
    const headers = Array.from({ length: 40 }, () => entry("h", content, { type }));
    const many = archive(...headers, entry("a", "1"));
    for (const limits of [{ maxEntries: 10 }, { maxTotalBytes: 60 }]) {
      await expect(readTarball(bytes(many), { limits })).rejects.toMatchObject({
        code: "PROVIDER_SOURCE_ARCHIVE_LIMIT",
      });
    }
    // What they hold is no content of the archive.
    await expect(readTarball(bytes(many))).resolves.toMatchObject({ files: 1, totalBytes: 1 });
  });

  it("with content in a folder, or data after its end, is refused", async () => {
    const folders = Array.from({ length: 8 }, (_, at) =>
      entry(`d${at}`, "x".repeat(9), { type: "5" }),
    );
    await expect(
      readTarball(bytes(archive(...folders)), { limits: { maxTotalBytes: 70 } }),
    ).rejects.toMatchObject({ code: "PROVIDER_SOURCE_ARCHIVE_LIMIT" });
    const trailing = Buffer.concat([Buffer.alloc(1024), Buffer.alloc(4 * 1024 * 1024)]);
    await expect(
      readTarball(bytes(gzipSync(Buffer.concat([entry("a", "1"), trailing])), 65_536), {
        limits: { maxRatio: 1_000_000 },
      }),
    ).rejects.toMatchObject({ code: "PROVIDER_SOURCE_ARCHIVE_MALFORMED" });
  });
});
