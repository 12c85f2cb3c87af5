import { randomBytes } from "node:crypto";
import { cp, mkdtempDisposable, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createManualClock } from "@stackwright/base/testing";
import { createStoredKeys } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { readStateContent, storeStateContent } from "./state-content.ts";

const STACK = { account: "acme", project: "web", stack: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
const { signal } = new AbortController();

function start() {
  const storage = createMemoryStorage();
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  return { blobs: new MemoryBlobs(), keys, clock: createManualClock() };
}

async function* chunksOf(text: string, size = 10): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all(content: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const STATE = '{"version":4,"serial":3,"lineage":"canary-of-a-secret","resources":[]}';

it("is stored encrypted, and read as it was", async () => {
  const parts = start();
  const found = await storeStateContent(parts, { stack: STACK, content: chunksOf(STATE), signal });
  expect(found).toMatchObject({ serial: 3n, bytes: BigInt(STATE.length), serialOffset: 22n });
  const stored = await all(parts.blobs.read(found.contentSha256));
  expect(stored).not.toContain("canary");
  expect(await all(readStateContent(parts, STACK, found))).toBe(STATE);
});

it("belongs to its stack", async () => {
  const parts = start();
  const found = await storeStateContent(parts, { stack: STACK, content: chunksOf(STATE), signal });
  const other = { ...STACK, project: "other" };
  await expect(all(readStateContent(parts, other, found))).rejects.toMatchObject({
    code: "key_unavailable",
  });
  await parts.keys.ensure(other);
  await expect(all(readStateContent(parts, other, found))).rejects.toThrow();
});

it("is not another version of the same stack, put in its place", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "state-content-"));
  await using blobs = await createDirectoryBlobs({ directory: scratch.path });
  const parts = { ...start(), blobs };
  const store = async (text: string) =>
    storeStateContent(parts, { stack: STACK, content: chunksOf(text), signal });
  const older = await store(STATE);
  const newer = await store(STATE.replace('"serial":3', '"serial":4'));
  const folderOf = ({ contentSha256: name }: { readonly contentSha256: string }) =>
    join(scratch.path, "blobs", name.slice(0, 2), name);
  await rm(folderOf(newer), { recursive: true });
  await cp(folderOf(older), folderOf(newer), { recursive: true });
  await expect(all(readStateContent(parts, STACK, newer))).rejects.toMatchObject({
    code: "STORAGE_CORRUPT",
  });
});

it("can be read after the key of the stack was rotated", async () => {
  const parts = start();
  const found = await storeStateContent(parts, { stack: STACK, content: chunksOf(STATE), signal });
  await parts.keys.rotate(STACK);
  expect(await all(readStateContent(parts, STACK, found))).toBe(STATE);
});

it.each([
  ["is no state", STATE.slice(1), undefined, "state_invalid"],
  ["is cut off", STATE.slice(0, -1), undefined, "state_invalid"],
  ["has another MD5", STATE, "0".repeat(32), "invalid_request"],
])("that %s leaves nothing behind", async (_name, text, md5, code) => {
  const parts = start();
  const content = chunksOf(text);
  await expect(storeStateContent(parts, { stack: STACK, content, md5, signal })).rejects.toThrow(
    expect.objectContaining({ code }),
  );
  const left: unknown[] = [];
  for await (const entry of parts.blobs.list()) left.push(entry);
  expect(left).toEqual([]);
});
