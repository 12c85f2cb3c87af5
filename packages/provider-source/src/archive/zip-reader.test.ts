import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ProviderSourceErrorCode } from "../errors.ts";
import { type RawEnd, type RawEntry, rawZip } from "../testing/oracle/raw-zip.ts";
import { Scratch } from "../testing/oracle/scratch.ts";
import { expectRefusal, unpack } from "../testing/oracle/try-unpack.ts";
import { archiveFromBytes } from "./archive-source.ts";
import { hashArchive } from "./hash-archive.ts";

describe("archives that are not in order", () => {
  const MALFORMED = "PROVIDER_SOURCE_ARCHIVE_MALFORMED";
  const UNSUPPORTED = "PROVIDER_SOURCE_ARCHIVE_UNSUPPORTED";
  const a: RawEntry = { name: "a", content: "abc" };

  it.each<[string, readonly RawEntry[], RawEnd, ProviderSourceErrorCode]>([
    ["something behind the end", [a], { behind: Buffer.from("x") }, MALFORMED],
    [
      "something in front that offsets do not count",
      [a],
      { front: Buffer.from("x"), offset: 0 },
      MALFORMED,
    ],
    ["something between directory and end", [a], { middle: Buffer.from("x") }, MALFORMED],
    ["a second end record in its comment", [a], { comment: rawZip([]) }, MALFORMED],
    ["too many entries announced", [a], { entries: 2 }, MALFORMED],
    ["too few entries announced", [a, { name: "b" }], { entries: 1 }, MALFORMED],
    ["a directory that is too short", [a], { size: 10 }, MALFORMED],
    ["several volumes", [a], { disk: 1 }, UNSUPPORTED],
    ["another name in the local header", [{ ...a, localName: "b" }], {}, MALFORMED],
    ["a longer name in the local header", [{ ...a, localName: "ab" }], {}, MALFORMED],
    ["another method in the local header", [{ ...a, localMethod: 0 }], {}, MALFORMED],
    ["another checksum in the local header", [{ ...a, localCrc: 1 }], {}, MALFORMED],
    ["no local header", [{ ...a, localSignature: 1 }], {}, MALFORMED],
    ["a wrong checksum", [{ ...a, crc: 1 }], {}, MALFORMED],
    ["damaged data", [{ ...a, data: Buffer.from([0xff, 0xff, 0xff]) }], {}, MALFORMED],
    ["data that ends early", [{ ...a, data: deflateRawSync("abc").subarray(0, 3) }], {}, MALFORMED],
    [
      "data that goes on behind its end",
      [{ ...a, data: Buffer.concat([deflateRawSync("abc"), Buffer.alloc(9)]) }],
      {},
      MALFORMED,
    ],
    ["no data", [{ name: "a", content: "", data: Buffer.alloc(0) }], {}, MALFORMED],
    ["two sizes of a stored entry", [{ ...a, stored: true, size: 2 }], {}, MALFORMED],
    ["data beyond the directory", [{ ...a, packedSize: 5000 }], {}, MALFORMED],
    ["an offset beyond the directory", [{ ...a, offset: 5000 }], {}, MALFORMED],
    ["a 64-bit size that is not there", [{ ...a, size: 0xffff_ffff }], {}, MALFORMED],
    ["encryption", [{ ...a, flags: 1 }], {}, UNSUPPORTED],
    ["strong encryption", [{ ...a, flags: 1 << 6 }], {}, UNSUPPORTED],
    ["masked headers", [{ ...a, flags: 1 << 13 }], {}, UNSUPPORTED],
    ["an unknown method", [{ ...a, method: 12 }], {}, UNSUPPORTED],
  ])("are refused: %s", async (_, entries, end, code) => {
    await expectRefusal(rawZip(entries, end), code);
    if (code === MALFORMED) {
      await expect(hashArchive(archiveFromBytes(rawZip(entries, end)))).rejects.toMatchObject({
        code,
      });
    }
  });

  it("are refused when cut off anywhere", async () => {
    const bytes = rawZip([a, { name: "b", content: "b", stored: true }]);
    for (let length = 0; length < bytes.length; length++) {
      await expect(
        hashArchive(archiveFromBytes(bytes.subarray(0, length))),
        `${length} bytes`,
      ).rejects.toMatchObject({
        code: MALFORMED,
      });
    }
  });

  it("are taken with a comment, data in front, 64-bit records, descriptors, unknown extra fields", async () => {
    const extra = Buffer.from([0x55, 0x54, 1, 0, 0]);
    const size64 = Buffer.alloc(20);
    size64.writeUInt16LE(1, 0);
    size64.writeUInt16LE(16, 2);
    size64.writeBigUInt64LE(3n, 4);
    size64.writeBigUInt64LE(3n, 12);
    const full = 0xffff_ffff;
    const archives = [
      rawZip([a], { comment: "hello" }),
      rawZip([a], { front: Buffer.from("#!/bin/sh\n") }),
      rawZip([a], { zip64: true }),
      rawZip([a], { zip64: true, entries: 0xffff, size: full, offset: full }),
      rawZip([{ ...a, extra, localExtra: extra, comment: "c" }]),
      rawZip([{ ...a, flags: 8, localCrc: 0 }]),
      rawZip([
        { ...a, stored: true, size: full, packedSize: full, extra: size64, localExtra: size64 },
      ]),
    ];
    for (const bytes of archives) {
      await using scratch = await Scratch.create();
      await unpack(scratch, bytes);
      expect(await scratch.tree(scratch.path("out"))).toEqual({ a: "644 abc" });
    }
  });

  it("are refused when their two end records disagree", async () => {
    await expectRefusal(rawZip([a], { zip64: true, entries: 2 }), MALFORMED);
    const bytes = rawZip([a], { zip64: true });
    bytes.writeUInt32LE(0, bytes.length - 22 - 20 - 56);
    await expectRefusal(bytes, MALFORMED);
  });
});
