import { mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { hashDirectory } from "../hash/hash-directory.ts";
import { parsePackageHash } from "../hash/package-hash.ts";
import { type RawEntry, rawZip } from "../testing/oracle/raw-zip.ts";
import { Scratch } from "../testing/oracle/scratch.ts";
import { expectRefusal, unpack } from "../testing/oracle/try-unpack.ts";
import { type ArchiveSource, archiveFromBytes } from "./archive-source.ts";
import { hashArchive } from "./hash-archive.ts";
import type { ArchiveLimits } from "./limits.ts";
import { unpackArchive } from "./unpack.ts";

describe("unpacking", () => {
  it("gives the files with their modes, and the hash of the directory", async () => {
    await using scratch = await Scratch.create();
    const summary = await unpack(
      scratch,
      rawZip([
        { name: "dir/", mode: 0o040755, stored: true },
        { name: "dir/run", content: "run", mode: 0o100750 },
        { name: "set", content: "set", mode: 0o104711 },
        { name: "secret", content: "", mode: 0o100600 },
        { name: "deep/er/ü", content: "x".repeat(100_000) },
        { name: "from-dos", content: "dos", host: 0, mode: 0o120777 },
        { name: "stored", content: "stored", stored: true },
      ]),
    );
    expect(await scratch.tree(scratch.path("out"))).toEqual({
      "deep/": "",
      "deep/er/": "",
      "deep/er/ü": `644 ${"x".repeat(100_000)}`,
      "dir/": "",
      "dir/run": "755 run",
      "from-dos": "644 dos",
      secret: "644 ",
      set: "755 set",
      stored: "644 stored",
    });
    expect(summary).toEqual({
      files: 6,
      totalBytes: 100_015,
      h1: await hashDirectory(scratch.path("out")),
    });
    expect((await stat(scratch.path("out"))).mode & 0o777).toBe(0o755);
  });

  it("takes a destination that is an empty directory, and makes its parents", async () => {
    await using scratch = await Scratch.create();
    const bytes = rawZip([{ name: "a", content: "a" }]);
    await mkdir(scratch.path("out"));
    expect((await unpack(scratch, bytes)).files).toBe(1);
    await unpackArchive(archiveFromBytes(bytes), scratch.path("x", "y", "z"));
    expect(await readdir(scratch.path("x", "y"))).toEqual(["z"]);
  });

  it("leaves a destination alone that has something in it", async () => {
    await using scratch = await Scratch.create();
    const bytes = rawZip([{ name: "a", content: "new" }]);
    await mkdir(scratch.path("out"));
    await writeFile(scratch.path("out", "a"), "old");
    await writeFile(scratch.path("file"), "old");
    const refused = { code: "PROVIDER_SOURCE_DESTINATION_EXISTS" };
    await expect(unpack(scratch, bytes)).rejects.toMatchObject(refused);
    await expect(
      unpackArchive(archiveFromBytes(bytes), scratch.path("file")),
    ).rejects.toMatchObject(refused);
    expect(await scratch.tree()).toMatchObject({ "out/a": "644 old", file: "644 old" });
  });

  it("has one winner when several unpack to one place at once", async () => {
    await using scratch = await Scratch.create();
    const bytes = rawZip([
      { name: "a", content: "a" },
      { name: "b", content: "b" },
    ]);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => unpack(scratch, bytes)),
    );
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
    for (const result of results) {
      if (result.status === "rejected") {
        expect(result.reason).toMatchObject({ code: "PROVIDER_SOURCE_DESTINATION_EXISTS" });
      }
    }
    expect(await scratch.tree()).toEqual({ "out/": "", "out/a": "644 a", "out/b": "644 b" });
  });

  it("stops when the caller gives up, and cleans up", async () => {
    await using scratch = await Scratch.create();
    const bytes = rawZip([
      { name: "a", content: "a".repeat(1000) },
      { name: "b", content: "b" },
    ]);
    const source = archiveFromBytes(bytes);
    const attempt = async (abortAt: number, destination: string) => {
      const controller = new AbortController();
      let reads = 0;
      const read: ArchiveSource["read"] = (offset, length) => {
        if (++reads === abortAt) controller.abort(new Error("enough"));
        return source.read(offset, length);
      };
      const { signal } = controller;
      const summary = await unpackArchive({ ...source, read }, scratch.path(destination), {
        signal,
      });
      return { reads, summary };
    };
    const { reads } = await attempt(0, "whole");
    expect(reads).toBeGreaterThan(5);
    for (let abortAt = 1; abortAt <= reads; abortAt++) {
      await expect(attempt(abortAt, "out"), `at read ${abortAt}`).rejects.toThrow("enough");
      expect(await readdir(scratch.root)).toEqual(["whole"]);
    }
  });

  it("passes on what the source of the bytes fails with", async () => {
    await using scratch = await Scratch.create();
    const bytes = rawZip([{ name: "a", content: "a".repeat(1000) }]);
    const broken = {
      name: "broken",
      sizeBytes: bytes.length,
      read: () => Promise.reject(new TypeError("x")),
    };
    await expect(unpackArchive(broken, scratch.path("out"))).rejects.toThrow(new TypeError("x"));
    const short = { ...broken, read: async () => new Uint8Array(1) };
    await expect(unpackArchive(short, scratch.path("out"))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
    await expect(
      unpackArchive(scratch.path("none.zip"), scratch.path("out")),
    ).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
    await expect(unpackArchive(scratch.root, scratch.path("out"))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
    expect(await readdir(scratch.root)).toEqual([]);
  });
});

describe("expected hashes", () => {
  const bytes = rawZip([{ name: "a", content: "a" }]);

  it("are matched by content, by archive, or not at all when none can be checked", async () => {
    const { h1, zh } = await hashArchive(archiveFromBytes(bytes));
    const other = parsePackageHash("h1:other");
    for (const expectedHashes of [
      [h1],
      [zh],
      [other, zh],
      [other, h1],
      [],
      [parsePackageHash("h2:x")],
    ]) {
      await using scratch = await Scratch.create();
      expect((await unpack(scratch, bytes, { expectedHashes })).files).toBe(1);
    }
  });

  it("refuse a package that has none of them", async () => {
    const expectedHashes = ["h1:other", "zh:other"].map(parsePackageHash);
    await expectRefusal(bytes, "PROVIDER_SOURCE_HASH_MISMATCH", { expectedHashes });
  });
});

describe("hostile paths and entries", () => {
  const file = { content: "evil" };

  it.each([
    "../evil",
    "a/../../evil",
    "a/..",
    "..",
    ".",
    "./evil",
    "a/./b",
    "/evil",
    "//evil",
    "a//b",
    "/",
    "..\\evil",
    "a\\b",
    "\\evil",
    "C:\\evil",
    "C:evil",
    "c:/evil",
    "a:b",
    "a\0b",
    "a\nb",
    "\u007f",
    "",
  ])("refuses the path %j", async (name) => {
    await expectRefusal(
      rawZip([
        { name: "good", ...file },
        { name, ...file },
      ]),
      "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
    );
  });

  it("refuses a path that is not UTF-8", async () => {
    const name = Uint8Array.of(0x61, 0xff);
    await expectRefusal(rawZip([{ name, ...file }]), "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE");
    // Overlong forms of "/" and "." are no UTF-8 either.
    const overlong = Uint8Array.of(0x2e, 0xc0, 0xae, 0xc0, 0xaf, 0x61);
    await expectRefusal(
      rawZip([{ name: overlong, ...file }]),
      "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
    );
  });

  it.each([
    ["symbolic link", 0o120777],
    ["named pipe", 0o010644],
    ["socket", 0o140644],
    ["character device", 0o020644],
    ["block device", 0o060644],
    ["directory without a slash", 0o040755],
  ])("refuses a %s", async (_, mode) => {
    for (const host of [3, 19]) {
      await expectRefusal(
        rawZip([{ name: "x", content: "/etc/passwd", mode, host }]),
        "PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED",
      );
    }
  });

  it("refuses a directory that is a file, or has content", async () => {
    await expectRefusal(
      rawZip([{ name: "x/", mode: 0o100644 }]),
      "PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED",
    );
    await expectRefusal(
      rawZip([{ name: "x/", mode: 0o040755, ...file }]),
      "PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED",
    );
  });

  it.each([
    ["a", "a"],
    ["a", "A"],
    ["a/b", "A/c"],
    ["a", "a/b"],
    ["a/b", "a"],
    ["a/", "a"],
    ["é", "e\u0301"],
    ["straße/x", "STRAßE/y"],
  ])("refuses %j beside %j", async (one, other) => {
    await expectRefusal(
      rawZip([{ name: one, mode: one.endsWith("/") ? 0o040755 : 0o100644 }, { name: other }]),
      "PROVIDER_SOURCE_ARCHIVE_DUPLICATE",
    );
  });

  it("is not led astray by links that are already there", async () => {
    await using scratch = await Scratch.create();
    await mkdir(scratch.path("outside"));
    await mkdir(scratch.path("out"));
    await symlink(scratch.path("outside"), scratch.path("out", "link"));
    await expect(unpack(scratch, rawZip([{ name: "link/evil", ...file }]))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_DESTINATION_EXISTS",
    });
    expect(await readdir(scratch.path("outside"))).toEqual([]);
  });
});

describe("bombs", () => {
  const LIMIT = "PROVIDER_SOURCE_ARCHIVE_LIMIT";
  const zeros = { content: Buffer.alloc(8 * 1024 * 1024) };

  it("are refused by ratio, of one file and of all together", async () => {
    await expectRefusal(rawZip([{ name: "a", ...zeros }]), LIMIT);
    const many = Array.from({ length: 40 }, (_, i) => ({
      name: `f${i}`,
      content: Buffer.alloc(1_000_000),
    }));
    await expectRefusal(rawZip(many), LIMIT);
    await using scratch = await Scratch.create();
    expect(
      await unpack(scratch, rawZip([{ name: "a", ...zeros }]), { limits: { maxRatio: 2000 } }),
    ).toMatchObject({
      totalBytes: 8 * 1024 * 1024,
    });
  });

  it.each<[string, readonly RawEntry[], ArchiveLimits]>([
    ["entries", [{ name: "a" }, { name: "b" }, { name: "c" }], { maxEntries: 2 }],
    ["the size of a file", [{ name: "a", content: "12345" }], { maxEntryBytes: 4 }],
    [
      "the size of all files",
      [
        { name: "a", content: "123" },
        { name: "b", content: "123" },
      ],
      { maxTotalBytes: 5 },
    ],
    ["the length of a path", [{ name: "a".repeat(11) }], { maxPathBytes: 10 }],
    ["nesting", [{ name: "a/b/c" }], { maxDepth: 1 }],
    ["nesting of directories", [{ name: "a/b/", mode: 0o040755 }], { maxDepth: 1 }],
    [
      "the central directory",
      [{ name: "a", comment: "x".repeat(1000) }],
      { maxDirectoryBytes: 1000 },
    ],
  ])("are refused by %s", async (_, entries, limits) => {
    const bytes = rawZip(entries);
    await expectRefusal(bytes, LIMIT, { limits });
    await using scratch = await Scratch.create();
    await unpack(scratch, bytes);
  });

  it("begin beyond the limits: what is exactly at all of them is unpacked", async () => {
    const entries = [
      { name: "a/bcd", content: "12345" },
      { name: "ef", content: "678" },
    ];
    const bytes = rawZip(entries);
    const limits = {
      maxEntries: 2,
      maxEntryBytes: 5,
      maxTotalBytes: 8,
      maxPathBytes: 5,
      maxDepth: 1,
    };
    await using scratch = await Scratch.create();
    expect(await unpack(scratch, bytes, { limits })).toMatchObject({ totalBytes: 8 });
    for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
      // Depth 0 is no limit: the least that can be set is a whole level.
      if (name === "maxDepth") continue;
      await expectRefusal(bytes, LIMIT, { limits: { ...limits, [name]: limits[name] - 1 } });
    }
  });

  it("cannot hide their size: what is longer than announced is cut off", async () => {
    const content = Buffer.alloc(64 * 1024 * 1024);
    const data = deflateRawSync(content);
    await expectRefusal(
      rawZip([{ name: "a", data, size: 100, crc: 0 }]),
      "PROVIDER_SOURCE_ARCHIVE_MALFORMED",
    );
    await expectRefusal(
      rawZip([{ name: "a", content: "abc", size: 2 }]),
      "PROVIDER_SOURCE_ARCHIVE_MALFORMED",
    );
    await expectRefusal(
      rawZip([{ name: "a", content: "abc", size: 4 }]),
      "PROVIDER_SOURCE_ARCHIVE_MALFORMED",
    );
  });

  it("cannot let entries share data", async () => {
    const kernel = { name: "a", content: "abc" };
    const shared = rawZip([kernel, { ...kernel, name: "b", offset: 0, localName: "a" }]);
    await expectRefusal(shared, "PROVIDER_SOURCE_ARCHIVE_MALFORMED");
    // The first entry's data spans the whole second entry, header included.
    const inner = rawZip([{ name: "in", content: "x".repeat(50), stored: true }]);
    const innerData = inner.subarray(0, 30 + 2 + 50);
    const outer = rawZip([
      { name: "ou", data: innerData, content: innerData, stored: true },
      { name: "in", content: "x".repeat(50), stored: true, offset: 32 },
    ]);
    await expectRefusal(outer, "PROVIDER_SOURCE_ARCHIVE_MALFORMED");
  });

  it("cannot stretch local headers over what follows", async () => {
    const entries = [
      { name: "a", content: "a", localExtra: Buffer.alloc(60_000) },
      { name: "b", content: "b" },
    ];
    await using scratch = await Scratch.create();
    expect((await unpack(scratch, rawZip(entries))).files).toBe(2);
    const bytes = rawZip([
      { name: "a", content: "a" },
      { name: "b", content: "b" },
    ]);
    bytes.writeUInt16LE(20, 28);
    await expectRefusal(bytes, "PROVIDER_SOURCE_ARCHIVE_MALFORMED");
  });

  it("need limits that are numbers", async () => {
    await using scratch = await Scratch.create();
    for (const maxEntries of [0, -1, Number.NaN]) {
      await expect(unpack(scratch, rawZip([]), { limits: { maxEntries } })).rejects.toThrow(
        RangeError,
      );
    }
  });
});
