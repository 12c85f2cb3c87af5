import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { hashDirectory } from "../hash/hash-directory.ts";
import { Scratch } from "../testing/oracle/scratch.ts";
import { hashArchive } from "./hash-archive.ts";
import { listPackEntries, writeArchive } from "./pack-directory.ts";
import { unpackArchive } from "./unpack.ts";
import {
  type ArchiveSummary,
  type PackEntry,
  type PackOptions,
  packArchive,
} from "./zip-writer.ts";

async function pack(
  entries: Iterable<PackEntry>,
  options?: PackOptions,
): Promise<{ bytes: Buffer; summary: ArchiveSummary }> {
  const chunks: Uint8Array[] = [];
  const packing = packArchive(entries, options);
  for (;;) {
    const step = await packing.next();
    if (step.done === true) return { bytes: Buffer.concat(chunks), summary: step.value };
    chunks.push(step.value);
  }
}

/** Text that keeps a compressor busy: words that come again, at distances of all sizes. */
const WORDS = Array.from({ length: 60_000 }, (_, i) => ((i * i * 7919) % 5003).toString(36)).join(
  " ",
);

const ENTRIES: readonly PackEntry[] = [
  { path: "terraform-provider-x_v1.0.0", mode: 0o755, content: Buffer.from("#!/bin/sh\n") },
  { path: "docs/b.md", content: Buffer.from(WORDS) },
  { path: "docs/ü.md", mode: 0o600, content: Buffer.alloc(0) },
  { path: "LICENSE", content: Buffer.from("free\n") },
];

describe("packing", () => {
  // These hashes are what makes the promise "the same bytes on every machine, in every release".
  it.each([
    ["deflate", 13_208, "zh:31bc31d097ac0ab3eb66c6f49d90653ebd06cce3505ad89d3e0d3bebc00dee0b"],
    ["store", 224_546, "zh:671ddc66713466b026fd4da6fceb6fd38ba37b0c673f9d80dc92410b5d69d04c"],
  ] as const)("gives these very bytes with %s", async (compression, sizeBytes, zh) => {
    const { bytes, summary } = await pack(ENTRIES, { compression });
    expect(summary).toEqual({
      sizeBytes,
      entries: 4,
      h1: "h1:MskURuK2IpT2lxGDMAloOJ3dRN5YbgS7IMQONcUWCQM=",
      zh,
    });
    expect(bytes).toHaveLength(sizeBytes);
  });

  it("does not depend on the order of entries nor on how content is cut", async () => {
    const content = Buffer.concat(
      Array.from({ length: 300 }, (_, i) => Buffer.alloc(1000, `${i} `)),
    );
    const cut = (size: number) =>
      async function* () {
        for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
      };
    const whole = await pack([
      { path: "a", content },
      { path: "b", content: Buffer.from("b") },
    ]);
    for (const size of [1, 999, 65_536, 65_537]) {
      const entries = [
        { path: "b", content: Buffer.from("b") },
        { path: "a", content: cut(size) },
      ];
      expect((await pack(entries)).bytes.equals(whole.bytes), `pieces of ${size}`).toBe(true);
    }
  });

  it("sorts by the bytes of paths", async () => {
    const paths = ["a/b", "a-b", "a.b", "Z", "\u{1f600}", "\uff5e", "a b"];
    const { bytes } = await pack(paths.map((path) => ({ path, content: Buffer.alloc(0) })));
    const at = paths.map((path) => ({ path, offset: bytes.indexOf(path) }));
    const sorted = at.toSorted((a, b) => a.offset - b.offset).map(({ path }) => path);
    expect(sorted).toEqual(["Z", "a b", "a-b", "a.b", "a/b", "\uff5e", "\u{1f600}"]);
  });

  it.each(["", "/a", "a/", "../a", "a/../b", "a//b", "./a", "a\\b", "C:a", "a\nb", "\ud800"])(
    "refuses the path %j",
    async (path) => {
      await expect(pack([{ path, content: Buffer.alloc(0) }])).rejects.toMatchObject({
        code: "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
      });
    },
  );

  it("refuses paths that collide, and modes that are none", async () => {
    const entry = (path: string) => ({ path, content: Buffer.alloc(0) });
    for (const [a, b] of [
      ["a", "a"],
      ["a", "A"],
      ["a", "a/b"],
      ["é", "e\u0301"],
      ["A/x", "a/y"],
    ] as const) {
      await expect(pack([entry(a), entry(b)]), `${a} ${b}`).rejects.toMatchObject({
        code: "PROVIDER_SOURCE_ARCHIVE_DUPLICATE",
      });
    }
    await expect(pack([{ ...entry("a"), mode: 0o4755 }])).rejects.toThrow(RangeError);
  });

  it("notices content that changes between two readings", async () => {
    let reads = 0;
    const content = async function* () {
      yield Buffer.from(`reading ${reads++}`);
    };
    await expect(pack([{ path: "a", content }], { compression: "store" })).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
    });
  });

  it("stops with the reason of the signal, and passes on errors of content", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(pack(ENTRIES, { signal })).rejects.toThrow("enough");
    const broken = async function* () {
      yield Buffer.from("x");
      throw new TypeError("broken");
    };
    await expect(pack([{ path: "a", content: broken }])).rejects.toThrow(new TypeError("broken"));
  });

  it("packs nothing into an archive that is empty", async () => {
    const { bytes, summary } = await pack([]);
    expect(bytes).toHaveLength(22);
    expect(summary.entries).toBe(0);
    await using scratch = await Scratch.create();
    await writeFile(scratch.path("empty.zip"), bytes);
    expect(await unpackArchive(scratch.path("empty.zip"), scratch.path("out"))).toMatchObject({
      files: 0,
    });
  });
});

describe("packing directories", () => {
  async function lay(scratch: Scratch, files: Readonly<Record<string, number>>): Promise<string> {
    const root = scratch.path("in");
    for (const [path, mode] of Object.entries(files)) {
      await mkdir(dirname(`${root}/${path}`), { recursive: true });
      await writeFile(`${root}/${path}`, path);
      await chmod(`${root}/${path}`, mode);
    }
    return root;
  }

  it("brings modes to two kinds and leaves out empty directories", async () => {
    await using scratch = await Scratch.create();
    const root = await lay(scratch, { run: 0o700, "a/readme": 0o600, shared: 0o666, all: 0o777 });
    await mkdir(`${root}/empty`);
    const entries = await listPackEntries(root);
    expect(Object.fromEntries(entries.map(({ path, mode }) => [path, mode?.toString(8)]))).toEqual({
      run: "755",
      "a/readme": "644",
      shared: "644",
      all: "755",
    });
  });

  it("gives an archive with the hash of the directory, before and after unpacking", async () => {
    await using scratch = await Scratch.create();
    const root = await lay(scratch, { run: 0o755, "a/b/c": 0o644, "a.b": 0o644, ü: 0o644 });
    const summary = await writeArchive(scratch.path("x.zip"), await listPackEntries(root));
    const { h1, zh } = await hashArchive(scratch.path("x.zip"));
    expect({ h1, zh }).toEqual({ h1: summary.h1, zh: summary.zh });
    expect(await hashDirectory(root)).toBe(summary.h1);
    const unpacked = await unpackArchive(scratch.path("x.zip"), scratch.path("out"));
    expect(unpacked.h1).toBe(summary.h1);
    expect(await scratch.tree(scratch.path("out"))).toEqual(await scratch.tree(root));
    expect(await readdir(scratch.root)).toEqual(["in", "out", "x.zip"]);
  });

  it("refuses links, and leaves no half-written archive", async () => {
    await using scratch = await Scratch.create();
    const root = await lay(scratch, { a: 0o644 });
    const entries = await listPackEntries(root);
    const broken = async function* () {
      yield Buffer.from("half");
      throw new Error("gone");
    };
    const gone = [...entries, { path: "b", content: broken }];
    await expect(writeArchive(scratch.path("x.zip"), gone)).rejects.toThrow("gone");
    expect(await readdir(scratch.root)).toEqual(["in"]);
    await symlink("a", `${root}/link`);
    await expect(listPackEntries(root)).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
      details: { path: `${root}/link` },
    });
    await expect(listPackEntries(scratch.path("none"))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_IO",
    });
  });
});
