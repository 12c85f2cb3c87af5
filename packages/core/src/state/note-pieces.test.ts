import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createUlidGenerator } from "@stackwright/storage";
import { restoreBackup, restoreTargetOf, writeBackup } from "@stackwright/storage/backup";
import { collectUnreferenced, createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { keyEncryptionKey } from "../secrets/key-encryption.ts";
import { plan } from "../testing/state-content.ts";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { STATE_BLOB_KINDS } from "./blob-references.ts";
import { createStoredKeys } from "./stack-keys.ts";
import type { StackState } from "./stack-state.ts";
import { createStackStates } from "./stack-states.ts";
import { recoveredBytes } from "./state-object.ts";

const KEY = keyEncryptionKey(new Uint8Array(32).fill(3));
const NEXT_KEY = keyEncryptionKey(new Uint8Array(32).fill(4));
const ADDRESS = "a.b";

async function openStore() {
  const folder = await mkdtempDisposable(join(tmpdir(), "note-pieces-"));
  const storage = createMemoryStorage();
  // Nothing is held: a collection removes all that is not referred to.
  const blobs = await createDirectoryBlobs({ directory: join(folder.path, "blobs"), holdMs: 0 });
  onTestFinished(async () => {
    await blobs.close();
    await storage.close();
    await folder.remove();
  });
  const stateWith = (current = KEY, former: readonly (typeof KEY)[] = []): StackState => {
    const ciphers = createStoredKeys({ storage, current, former });
    return createStackStates({ storage, blobs, ciphers, owner: "worker" }).stack(TEST_STACK);
  };
  return { folder: folder.path, storage, blobs, stateWith };
}

async function noted(state: StackState): Promise<string> {
  const object = (await state.read()).objects.get(ADDRESS);
  return object === undefined ? "" : Buffer.from(recoveredBytes(object)).toString();
}

it("pieces of notes are readable after keys were rotated and rewrapped, blobs collected, and the store restored", async () => {
  const store = await openStore();
  const { storage, blobs, stateWith } = store;
  const ulid = createUlidGenerator({ wallMs: Date.now });
  const id = ulid();
  const keys = createStoredKeys({ storage, current: KEY });
  let text = "";
  {
    await using hold = await stateWith().acquire();
    const writer = await hold.begin({ run: ulid() });
    const key = { address: ADDRESS, deposed: "" };
    await writer.write({ kind: "create", key, object: plan(), operation: { id } });
    for (let at = 0; at < 12; at += 1) {
      const note = `${at} `.padEnd(10 * 1024, ".");
      text += note;
      await writer.write({ kind: "note", key, operation: id, note: Buffer.from(note) });
      // Some pieces are of the former data key, also of those that the writer has stored already.
      if (at === 6) await keys.rotate(TEST_STACK);
    }
  }
  expect(await noted(stateWith())).toBe(text);
  expect(
    await createStoredKeys({ storage, current: NEXT_KEY, former: [KEY] }).rewrap(TEST_STACK),
  ).toEqual([1, 2]);
  // Each version of the last piece was a part of the object, so that only what is stored apart counts.
  const collected = await collectUnreferenced({ storage, blobs, kinds: STATE_BLOB_KINDS });
  expect(collected.removed).toBe(0);
  const state = stateWith(NEXT_KEY);
  expect(await noted(state)).toBe(text);

  const directory = join(store.folder, "backup");
  const manifest = await writeBackup({ storage, blobs, directory, kinds: STATE_BLOB_KINDS });
  expect(manifest.lost).toEqual([]);
  const other = await openStore();
  await restoreBackup({ directory, target: restoreTargetOf(other.storage), blobs: other.blobs });
  await collectUnreferenced({ ...other, kinds: STATE_BLOB_KINDS });
  expect(await noted(other.stateWith(NEXT_KEY))).toBe(text);

  // The next run writes what it read under the newest key, and what is not needed then is collected.
  await using hold = await other.stateWith(NEXT_KEY).acquire();
  const writer = await hold.begin({ run: ulid() });
  const settle = { kind: "settle", key: { address: ADDRESS, deposed: "" }, operation: id } as const;
  const problem = "it was not answered";
  await writer.write({ ...settle, outcome: { kind: "unresolved", problem } });
  await writer.finish();
  await collectUnreferenced({ ...other, kinds: STATE_BLOB_KINDS });
  expect(await noted(other.stateWith(NEXT_KEY))).toBe(text);
});
