import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createScratchBlobs } from "../testing/scratch-blobs.ts";
import { BlobArchive } from "./blob-archive.ts";

it("reads any part of a blob, in any order, and continues where it ended", async () => {
  await using blobs = createScratchBlobs();
  const bytes = randomBytes(700_000);
  const blob = await blobs.write(bytes);
  const reads: number[] = [];
  const counted = {
    ...blobs,
    read: (sha256: string, options?: { offset?: number }) => {
      reads.push(options?.offset ?? 0);
      return blobs.read(sha256, options);
    },
  };
  await using archive = new BlobArchive(counted, blob);
  for (let at = 0; at < bytes.length; at += 100_000) {
    expect(bytes.subarray(at, at + 100_000).equals(await archive.read(at, 100_000))).toBe(true);
  }
  expect(reads).toEqual([0]);
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(300_000), async (offset, length) => {
      const end = Math.min(bytes.length, offset + length);
      const part = await archive.read(offset, end - offset);
      expect(bytes.subarray(offset, end).equals(part)).toBe(true);
    }),
    { numRuns: 20 },
  );
});
