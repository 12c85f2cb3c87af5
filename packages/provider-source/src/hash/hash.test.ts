import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { archiveFromBytes } from "../archive/archive-source.ts";
import { hashArchive } from "../archive/hash-archive.ts";
import { packageHasAnyHash } from "../archive/verify-package.ts";
import { rawZip } from "../testing/oracle/raw-zip.ts";
import { Scratch } from "../testing/oracle/scratch.ts";
import { hashDirectory } from "./hash-directory.ts";
import {
  hashScheme,
  isSupportedHash,
  normalizeHashes,
  parsePackageHash,
  zipHash,
  zipHashHex,
} from "./package-hash.ts";

const unreadable = { code: "PROVIDER_SOURCE_PACKAGE_UNREADABLE" };

describe("hashes", () => {
  it("have a scheme", () => {
    expect(hashScheme(parsePackageHash("h1:a:b"))).toBe("h1");
    for (const text of ["", "h1", ":x"]) {
      expect(() => parsePackageHash(text)).toThrow(
        expect.objectContaining({ code: "PROVIDER_SOURCE_HASH_INVALID" }),
      );
    }
  });

  it("are checkable if their scheme is known", () => {
    expect(["h1:x", "zh:x", "h2:x"].map(parsePackageHash).map(isSupportedHash)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("of archives are lower-case hexadecimal", () => {
    const hash = zipHash("AB".repeat(32));
    expect(hash).toBe(`zh:${"ab".repeat(32)}`);
    expect(zipHashHex(hash)).toBe("ab".repeat(32));
    expect(zipHashHex(parsePackageHash("h1:x"))).toBeUndefined();
    expect(() => zipHash("ab")).toThrow(
      expect.objectContaining({ code: "PROVIDER_SOURCE_HASH_INVALID" }),
    );
  });

  it("are sorted by their bytes, without repetitions", () => {
    const hashes = ["zh:b", "h1:b", "h1:B", "zh:b", "h1:+"].map(parsePackageHash);
    expect(normalizeHashes(hashes)).toEqual(["h1:+", "h1:B", "h1:b", "zh:b"]);
  });
});

describe("the hash of a directory", () => {
  it("of no files is that of nothing", async () => {
    await using scratch = await Scratch.create();
    await mkdir(scratch.path("empty", "deep"), { recursive: true });
    expect(await hashDirectory(scratch.root)).toBe(
      "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    );
  });

  it("follows links to files and to the whole package, and to nothing else", async () => {
    await using scratch = await Scratch.create();
    const root = scratch.path("package");
    await mkdir(root);
    await writeFile(`${root}/a`, "same");
    await writeFile(`${root}/b`, "same");
    const plain = await hashDirectory(root);
    await using other = await Scratch.create();
    await writeFile(other.path("a"), "same");
    await symlink("a", other.path("b"));
    await symlink(other.root, scratch.path("linked"));
    expect(await hashDirectory(scratch.path("linked"))).toBe(plain);

    await symlink(scratch.root, `${root}/loop`);
    await expect(hashDirectory(root)).rejects.toMatchObject({
      ...unreadable,
      details: { path: `${root}/loop` },
    });
  });

  it("is refused for what is no package", async () => {
    await using scratch = await Scratch.create();
    await writeFile(scratch.path("file"), "");
    await expect(hashDirectory(scratch.path("file"))).rejects.toMatchObject(unreadable);
    await expect(hashDirectory(scratch.path("none"))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
    await mkdir(scratch.path("dangling"));
    await symlink("nowhere", scratch.path("dangling", "link"));
    await expect(hashDirectory(scratch.path("dangling"))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
  });

  it.skipIf(process.platform === "win32")(
    "is refused for names that could forge lines, and for sockets",
    async () => {
      await using scratch = await Scratch.create();
      await mkdir(scratch.path("lines"));
      await writeFile(scratch.path("lines", "a\nb"), "");
      await expect(hashDirectory(scratch.path("lines"))).rejects.toMatchObject(unreadable);
      await mkdir(scratch.path("sockets"));
      const server = createServer();
      await new Promise<void>((settle) => server.listen(scratch.path("sockets", "s"), settle));
      await expect(hashDirectory(scratch.path("sockets"))).rejects.toMatchObject(unreadable);
      await new Promise((settle) => server.close(settle));
    },
  );

  it("stops when the caller gives up", async () => {
    await using scratch = await Scratch.create();
    await writeFile(scratch.path("a"), "a");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(hashDirectory(scratch.root, { signal })).rejects.toThrow("enough");
  });
});

describe("the hash of an archive", () => {
  it("counts entries for directories as the command does, by their names", async () => {
    const file = { name: "d/a", content: "a" };
    const without = await hashArchive(archiveFromBytes(rawZip([file])));
    const dir = { name: "d/", mode: 0o040755, stored: true };
    const withDirectory = await hashArchive(archiveFromBytes(rawZip([dir, file])));
    expect(withDirectory.h1).not.toBe(without.h1);
    // sha256("") and "d/" on one line, sha256("a") and "d/a" on the next.
    expect(withDirectory.h1).toBe("h1:SsRO/TV4Ve7gS8iW0iqqyz+n/LMSlrrRo38+7D2uh+Y=");
  });

  it("does not depend on packing, order or modes", async () => {
    const a = { name: "a", content: "a" };
    const b = { name: "b", content: "b".repeat(1000) };
    const one = await hashArchive(archiveFromBytes(rawZip([a, b])));
    const other = await hashArchive(
      archiveFromBytes(
        rawZip([
          { ...b, stored: true, mode: 0o100755 },
          { ...a, stored: true },
        ]),
      ),
    );
    expect(other.h1).toBe(one.h1);
    expect(other.zh).not.toBe(one.zh);
  });

  it("is refused if two entries have the same name", async () => {
    await expect(
      hashArchive(archiveFromBytes(rawZip([{ name: "a" }, { name: "a" }]))),
    ).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_ARCHIVE_DUPLICATE",
    });
  });
});

describe("checking a package", () => {
  it("knows hashes of content in both forms and hashes of archives in one", async () => {
    await using scratch = await Scratch.create();
    const bytes = rawZip([{ name: "a", content: "a" }]);
    await mkdir(scratch.path("package"));
    await writeFile(scratch.path("package", "a"), "a");
    await writeFile(scratch.path("a.zip"), bytes);
    const { h1, zh } = await hashArchive(scratch.path("a.zip"));
    const directory = { kind: "directory", path: scratch.path("package") } as const;
    const archive = { kind: "archive", archive: scratch.path("a.zip") } as const;
    const other = parsePackageHash("h1:other");
    const unknown = parsePackageHash("h9:x");
    expect(await packageHasAnyHash(directory, [other, h1])).toBe(true);
    expect(await packageHasAnyHash(directory, [zh])).toBe(false);
    expect(await packageHasAnyHash(archive, [zh])).toBe(true);
    expect(await packageHasAnyHash(archive, [other, h1])).toBe(true);
    for (const location of [directory, archive]) {
      expect(await packageHasAnyHash(location, [other, unknown])).toBe(false);
      expect(await packageHasAnyHash(location, [])).toBe(false);
    }
  });
});

describe("memory", () => {
  // A process of its own for each size, so that the highest mark of one does not hide the other's.
  const measure = (megabytes: number): number => {
    const script = `
      import { open } from "node:fs/promises";
      import { mkdtempSync, rmSync } from "node:fs";
      import { tmpdir } from "node:os";
      import { join } from "node:path";
      const p = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
      const root = mkdtempSync(join(tmpdir(), "provider-source-"));
      try {
        const { mkdir } = await import("node:fs/promises");
        await mkdir(join(root, "in"));
        const file = await open(join(root, "in", "big"), "w");
        await file.truncate(${megabytes} * 1024 * 1024);
        await file.close();
        const entries = await p.listPackEntries(join(root, "in"));
        await p.writeArchive(join(root, "a.zip"), entries, { compression: "store" });
        await p.hashDirectory(join(root, "in"));
        await p.hashArchive(join(root, "a.zip"));
        await p.unpackArchive(join(root, "a.zip"), join(root, "out"));
        console.log(process.resourceUsage().maxRSS);
      } finally {
        rmSync(root, { recursive: true, force: true });
      }`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script]);
    return Number(output.toString()) / 1024;
  };

  it("does not grow with the size of files", () => {
    const small = measure(1);
    const large = measure(200);
    expect(large - small).toBeLessThan(100);
  });
});
