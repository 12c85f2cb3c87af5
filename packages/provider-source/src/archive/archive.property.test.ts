import { mkdir, readdir, writeFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderSourceError } from "../errors.ts";
import { hashDirectory } from "../hash/hash-directory.ts";
import { type RawEntry, rawZip } from "../testing/oracle/raw-zip.ts";
import { Scratch } from "../testing/oracle/scratch.ts";
import { archiveFromBytes } from "./archive-source.ts";
import { hashArchive } from "./hash-archive.ts";
import { unpackArchive } from "./unpack.ts";
import { type PackEntry, packArchive } from "./zip-writer.ts";

const scale = Number(process.env.STACKWRIGHT_RUNS ?? 1);
const timeout = 30_000 * Math.max(1, scale);

const part = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "c",
    "lib",
    "x.y",
    "ü",
    "日本",
    "a b",
    "-",
    "...",
    "~",
    "'",
    "\u{1f600}",
  ),
  fc.stringMatching(/^[a-z0-9_+-]{1,8}$/),
);
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const content = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat(20_000))
    .map(([unit, times]) => Buffer.alloc(times, unit)),
);
const mode = fc.constantFrom(0o644, 0o755);

/** Files whose paths do not collide. */
const files = fc.array(fc.record({ path, content, mode }), { maxLength: 12 }).map((all) => {
  const taken = new Set<string>();
  return all.filter((file) => {
    const key = file.path.toLowerCase();
    const above = key.split("/").map((_, i, parts) => parts.slice(0, i).join("/"));
    const collides = taken.has(key) || taken.has(`${key}/`) || above.some((dir) => taken.has(dir));
    if (collides) return false;
    taken.add(key);
    for (const dir of above) taken.add(`${dir}/`);
    return true;
  });
});

async function pack(entries: readonly PackEntry[], compression: "deflate" | "store") {
  const chunks: Uint8Array[] = [];
  const packing = packArchive(entries, { compression });
  for (;;) {
    const step = await packing.next();
    if (step.done === true) return { bytes: Buffer.concat(chunks), summary: step.value };
    chunks.push(step.value);
  }
}

describe("archives", () => {
  it("come back as they went in, and are the same bytes each time", { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(
        files,
        fc.constantFrom("deflate" as const, "store" as const),
        fc.infiniteStream(fc.nat()),
        async (all, compression, picks) => {
          const { bytes, summary } = await pack(all, compression);
          const shuffled = all
            .map((file) => ({ file, key: picks.next().value }))
            .sort((a, b) => a.key - b.key)
            .map(({ file }) => file);
          const again = await pack(shuffled, compression);
          expect(again.bytes.equals(bytes)).toBe(true);

          await using scratch = await Scratch.create();
          const limits = { maxRatio: 5000 };
          const unpacked = await unpackArchive(archiveFromBytes(bytes), scratch.path("out"), {
            limits,
          });
          const expected = all.map((file) => [
            file.path,
            `${file.mode.toString(8)} ${Buffer.from(file.content).toString("latin1")}`,
          ]);
          const tree = Object.entries(await scratch.tree(scratch.path("out")));
          expect(Object.fromEntries(tree.filter(([name]) => !name.endsWith("/")))).toEqual(
            Object.fromEntries(expected),
          );
          expect(unpacked).toMatchObject({ files: all.length, h1: summary.h1 });
          expect(await hashDirectory(scratch.path("out"))).toBe(summary.h1);
          expect(await hashArchive(archiveFromBytes(bytes), { limits })).toEqual({
            h1: summary.h1,
            zh: summary.zh,
          });
        },
      ),
      { numRuns: 60 * scale },
    );
  });
});

/** Names that try to get out, among names that do not. */
const hostileName = fc.oneof(
  path,
  fc
    .array(fc.constantFrom("..", ".", "", "a", "b", "/", "\\", "C:", "\0", "~", "A"), {
      maxLength: 5,
    })
    .chain((parts) => fc.constantFrom("/", "\\", "").map((sign) => parts.join(sign))),
);
const hostileEntry: fc.Arbitrary<RawEntry> = fc.record(
  {
    name: hostileName,
    content: fc.string({ maxLength: 40 }),
    stored: fc.boolean(),
    mode: fc.constantFrom(0o100644, 0o100755, 0o120777, 0o040755, 0, 0o010644),
    host: fc.constantFrom(0, 3, 19),
    offset: fc.nat(200),
    localName: hostileName,
    size: fc.nat(100),
    flags: fc.constantFrom(0, 8, 0x800),
  },
  { requiredKeys: ["name"] },
);

describe("hostile archives", () => {
  /**
   * Unpacks beside things that must stay as they are. Whatever happens: nothing changes outside of
   * the destination, a refusal is one of ours and leaves nothing, a success has only plain files.
   */
  async function tryToUnpack(bytes: Uint8Array): Promise<void> {
    await using scratch = await Scratch.create();
    await mkdir(scratch.path("place", "deep"), { recursive: true });
    await writeFile(scratch.path("place", "bystander"), "untouched");
    const destination = scratch.path("place", "deep", "out");
    const unpacked = await unpackArchive(archiveFromBytes(bytes), destination).then(
      () => true,
      (error: unknown) => {
        if (ProviderSourceError.is(error) && error.code.startsWith("PROVIDER_SOURCE_ARCHIVE_"))
          return false;
        throw error;
      },
    );
    expect(await readdir(scratch.root)).toEqual(["place"]);
    expect((await readdir(scratch.path("place"))).toSorted()).toEqual(["bystander", "deep"]);
    expect(await readdir(scratch.path("place", "deep"))).toEqual(unpacked ? ["out"] : []);
    const tree = await scratch.tree();
    expect(tree["place/bystander"]).toBe("644 untouched");
    expect(Object.values(tree)).not.toContain("neither");
  }

  it("never get out of their destination, whatever their entries say", { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostileEntry, { minLength: 1, maxLength: 4 }), async (entries) => {
        await tryToUnpack(rawZip(entries));
      }),
      { numRuns: 200 * scale },
    );
  });

  it("never get out, hang or crash, whatever bytes are changed", { timeout }, async () => {
    const base = rawZip(
      [
        { name: "dir/", mode: 0o040755, stored: true },
        { name: "dir/file", content: "content ".repeat(50), mode: 0o100755 },
        { name: "stored", content: "stored", stored: true },
        { name: "other", content: "other", flags: 8 },
      ],
      { zip64: true, comment: "comment" },
    );
    const edit = fc.record({
      at: fc.nat(base.length - 1),
      value: fc.oneof(fc.constantFrom(0, 1, 0x2e, 0x2f, 0x50, 0x7f, 0xff), fc.nat(255)),
    });
    const cut = fc.option(fc.tuple(fc.nat(base.length), fc.nat(40)));
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 6 }), cut, async (edits, hole) => {
        const bytes = Buffer.from(base);
        for (const { at, value } of edits) bytes[at] = value;
        const [start, length] = hole ?? [0, 0];
        await tryToUnpack(
          Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + length)]),
        );
      }),
      { numRuns: 400 * scale },
    );
  });
});
