import { createHash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { StorageError } from "@stackwright/storage";
import { expect, it } from "vitest";
import { hasSchema } from "./read-schema.ts";

const CHUNK = 16 * 1024;
const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A blob, and how many pieces of it were read. */
function blobOf(content: Uint8Array, end?: Error) {
  const read = { pieces: 0 };
  const blobs = {
    async *read() {
      for (let at = 0; at < content.length; at += CHUNK) {
        read.pieces += 1;
        yield content.subarray(at, at + CHUNK);
      }
      if (end !== undefined) throw end;
    },
  };
  return { read, blobs, blob: { sha256: digestOf(content), bytes: content.length } };
}

it("a blob has the schema that is named, or another one, or none", async () => {
  const schema = randomBytes(100_000);
  const named = { digest: digestOf(schema), bytes: schema.length };
  const { blobs, blob } = blobOf(gzipSync(schema));
  expect(await hasSchema(blobs, { ...named, blob })).toBe(true);
  expect(await hasSchema(blobs, { ...named, digest: digestOf(Buffer.of(1)), blob })).toBe(false);
  expect(await hasSchema(blobs, { ...named, bytes: named.bytes + 1, blob })).toBe(false);
  for (const bytes of [blob.bytes - 1, blob.bytes + 1]) {
    expect(await hasSchema(blobs, { ...named, blob: { ...blob, bytes } })).toBe(false);
  }
  const text = blobOf(schema);
  expect(await hasSchema(text.blobs, { ...named, blob: text.blob })).toBe(false);
  const absent = blobOf(Buffer.of(), new StorageError("STORAGE_NOT_FOUND", "none"));
  expect(await hasSchema(absent.blobs, { ...named, blob: absent.blob })).toBe(false);
  const away = blobOf(gzipSync(schema), new StorageError("STORAGE_INCONSISTENT", "away"));
  await expect(hasSchema(away.blobs, { ...named, blob: away.blob })).rejects.toThrow("away");
});

it("nothing more of a blob is read than what is said of it, however much it has", async () => {
  const schema = randomBytes(4 * 1024 * 1024);
  const { read, blobs, blob } = blobOf(gzipSync(schema));
  const small = { digest: digestOf(schema), bytes: 10, blob };
  expect(await hasSchema(blobs, small)).toBe(false);
  expect(read.pieces).toBeLessThan(blob.bytes / CHUNK / 2);
});
