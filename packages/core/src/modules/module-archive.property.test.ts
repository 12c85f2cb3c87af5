import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ModuleError } from "@stackwright/lang";
import fc from "fast-check";
import { expect, it } from "vitest";
import { unpackModule } from "./module-archive.ts";
import { hashModuleTree } from "./module-tree.ts";

interface Entry {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
  readonly link: string;
}

function pack({ name, type, content, link }: Entry): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write("0000644\0", 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, padding]);
}

const content = fc.uint8Array({ maxLength: 1500 }).map((bytes) => Buffer.from(bytes));
const plain: fc.Arbitrary<Entry> = fc.record({
  name: fc.constantFrom("main.tf", "a/b.tf", "./c", "a/../d", "link"),
  type: fc.constant("0"),
  content,
  link: fc.constant(""),
});
const odd: fc.Arbitrary<Entry> = fc.record({
  name: fc.constantFrom("main.tf", "a/b.tf", "a/", "a", "./c", "../out", "/abs", "a/../d", "link"),
  type: fc.constantFrom("0", "0", "0", "5", "2", "1", "3", "x"),
  content,
  link: fc.constantFrom("main.tf", "a/b.tf", "../../etc", "nothing", "/etc/passwd"),
});

const entry = fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: odd });

/** What becomes of the bytes of an archive: a cut, a byte that is another one, something behind the end. */
const damage = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: "none" as const }) },
  fc.record({ kind: fc.constant("cut" as const), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({
    kind: fc.constant("flip" as const),
    at: fc.double({ min: 0, max: 0.99, noNaN: true }),
  }),
  fc.record({ kind: fc.constant("more" as const), bytes: fc.uint8Array({ maxLength: 40 }) }),
);

function damaged(
  bytes: Buffer,
  how: typeof damage extends fc.Arbitrary<infer T> ? T : never,
): Buffer {
  if (how.kind === "cut") return bytes.subarray(0, Math.floor(how.at * bytes.length));
  if (how.kind === "more") return Buffer.concat([bytes, how.bytes]);
  const copy = Buffer.from(bytes);
  if (how.kind === "flip") {
    const at = Math.floor(how.at * copy.length);
    copy[at] = (copy[at] ?? 0) ^ 0x11;
  }
  return copy;
}

/** The hash of what was unpacked, or why nothing was. */
async function outcome(archive: Buffer | string, folder: string): Promise<unknown> {
  try {
    await unpackModule(archive, "tar.gz", folder, { limits: { maxFiles: 6, maxBytes: 5000 } });
    return await hashModuleTree(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return error instanceof ModuleError ? message : code;
  }
}

it("makes the same of an archive in memory as of the file, whatever is in it", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "module-archive-"));
  let run = 0;
  const ends = { unpacked: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 8 }),
      fc.boolean(),
      damage,
      async (all, end, how) => {
        run += 1;
        const tar = Buffer.concat([...all.map(pack), Buffer.alloc(end ? 1024 : 0)]);
        const bytes = damaged(gzipSync(tar), how);
        const file = join(scratch.path, `${run}.tar.gz`);
        writeFileSync(file, bytes);
        const [own, other] = [
          join(scratch.path, `${run}-memory`),
          join(scratch.path, `${run}-file`),
        ];
        const found = await outcome(bytes, own);
        const expected = await outcome(file, other);
        const isUnpacked = String(found).startsWith("h1:");
        // Of two reasons the one that is met first is said, and all of what is in memory is unpacked first.
        if (how.kind === "none" || isUnpacked) expect(found).toEqual(expected);
        else expect(String(expected)).not.toMatch(/^h1:/);
        ends[isUnpacked ? "unpacked" : "refused"] += 1;
      },
    ),
    { numRuns: 200 },
  );
  expect(ends.unpacked).toBeGreaterThan(20);
  expect(ends.refused).toBeGreaterThan(20);
  // Nothing beside the folders that were named.
  const others = /^\d+(?:\.tar\.gz|-memory|-file)$/;
  expect(readdirSync(scratch.path).filter((name) => !others.test(name))).toEqual([]);
});

it("unpacks what is small and has much in it, and keeps the limit", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "module-archive-"));
  const content = Buffer.alloc(5 * 1024 * 1024, "a");
  const bomb = gzipSync(pack({ name: "big", type: "0", content, link: "" }));
  expect(bomb.length).toBeLessThan(256 * 1024);
  await unpackModule(bomb, "tar.gz", join(scratch.path, "whole"));
  expect(readFileSync(join(scratch.path, "whole/big")).equals(content)).toBe(true);
  await expect(
    unpackModule(bomb, "tar.gz", join(scratch.path, "limited"), {
      limits: { maxBytes: 4 * 1024 * 1024 },
    }),
  ).rejects.toThrow("its files have more than");
});
