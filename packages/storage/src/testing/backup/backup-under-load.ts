import assert from "node:assert/strict";
import { join } from "node:path";
import type { BackupManifest } from "../../backup/backup-manifest.ts";
import { restoreBackup, restoreTargetOf } from "../../backup/restore-backup.ts";
import { verifyBackup } from "../../backup/verify-backup.ts";
import { writeBackup } from "../../backup/write-backup.ts";
import { collectUnreferenced } from "../../blob/collect-unreferenced.ts";
import type { BlobStore } from "../../blob/types.ts";
import { createMemoryStorage } from "../../engine/memory.ts";
import { isStorageError } from "../../errors.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type { StorageBackend, Watch, WatchEvent } from "../../types.ts";
import { createRandom } from "../random.ts";
import { A1, EVERYWHERE, HOME, payload, sample } from "../samples.ts";

const NAMES = 40;
const WRITERS = 4;
/** Writes of each writer before the backup, and at least in all. */
const WRITES_BEFORE = 20;
const WRITES = 40;

/** Name of the resource that ends a load. */
const LAST = "the last one";

/** Where a load runs and where its backup goes. */
interface BackupLoad {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  /** A folder that exists. */
  readonly scratch: string;
  readonly seed: number;
  /** How long the blobs are held, in ms. Then they are collected without a pause beside the backup. @default none are collected */
  readonly collectedAfterMs?: number;
}

/** What resources refer to. */
const KINDS = [
  {
    type: A1,
    blobs: ({ metadata }: Resource) => (metadata.blob === undefined ? [] : [metadata.blob]),
  },
];

/**
 * Makes a backup beside writers, and shows that what it restores is what the events up to the revision of its
 * manifest add up to, with the blob that each resource refers to. Gives the folder of the backup.
 */
export async function checkBackupUnderLoad(load: BackupLoad): Promise<string> {
  const { storage, blobs, scratch, seed, collectedAfterMs } = load;
  using watch = await storage.watchList(A1, EVERYWHERE, "", { endOfSnapshot: true });
  await watch.next();
  if (collectedAfterMs !== undefined) {
    // What the writers replace of this is not held any more, and can be collected at once.
    for (let name = 0; name < NAMES; name += 1) {
      await writeOnce(storage, blobs, `${name}`, `${seed} before ${name}`);
    }
    await new Promise((resolve) => setTimeout(resolve, collectedAfterMs + 50));
  }
  const stop = new AbortController();
  const started = Promise.withResolvers<void>();
  const counts = Array.from({ length: WRITERS }, () => 0);
  const writers = counts.map(async (_count, writer) => {
    const random = createRandom(seed * 100 + writer);
    while (!stop.signal.aborted || (counts[writer] ?? 0) < WRITES) {
      await writeOnce(
        storage,
        blobs,
        `${random.below(NAMES)}`,
        `${seed} ${writer} ${counts[writer]}`,
      );
      counts[writer] = (counts[writer] ?? 0) + 1;
      if (counts[writer] === WRITES_BEFORE) started.resolve();
    }
  });
  const written = Promise.all(writers);
  const following = eventsUpTo(watch, LAST);
  const directory = join(scratch, `backup ${seed}`);
  await Promise.race([started.promise, written]);
  const collecting =
    collectedAfterMs === undefined ? undefined : collectUntil(stop.signal, { storage, blobs });
  let manifest: BackupManifest;
  try {
    manifest = await writeBackup({ storage, blobs, directory, kinds: KINDS });
  } finally {
    stop.abort();
  }
  await written;
  if (collecting !== undefined) assert.ok((await collecting) > 0, "nothing was collected");
  await storage.writeCAS(sample(A1, HOME, LAST));
  const replayed = replay(await following, manifest.store.revision);

  assert.deepEqual(manifest.lost, []);
  assert.deepEqual(await verifyBackup(directory), { manifest, problems: 0 });
  await using restored = createMemoryStorage();
  const found = new Map<string, Uint8Array>();
  const target: BlobStore = {
    ...blobs,
    write: async (content) => {
      const parts: Uint8Array[] = [];
      for await (const part of content as AsyncIterable<Uint8Array>) parts.push(part);
      const bytes = Buffer.concat(parts);
      found.set(bytes.toString(), bytes);
      return { sha256: "", size: bytes.length };
    },
  };
  await restoreBackup({ directory, target: restoreTargetOf(restored), blobs: target });
  const list = await restored.list("strong", A1, EVERYWHERE, "");
  assert.deepEqual(contentsOf(list), contentsOf(replayed));
  for (const { data } of list) {
    assert.ok(found.has(Buffer.from(data?.value ?? []).toString()), "a blob was not restored");
  }
  return directory;
}

/** Collects blobs until a backup has ended, and gives how many were removed. */
async function collectUntil(
  ended: AbortSignal,
  store: Pick<BackupLoad, "storage" | "blobs">,
): Promise<number> {
  let count = 0;
  do {
    const { removed } = await collectUnreferenced({ ...store, kinds: KINDS });
    count += removed;
  } while (!ended.aborted);
  return count;
}

/** Creates, replaces or deletes a resource that refers to a blob with the same content. */
async function writeOnce(
  storage: StorageBackend,
  blobs: BlobStore,
  name: string,
  text: string,
): Promise<void> {
  const data = payload(text);
  const { sha256 } = await blobs.write(data.value);
  const id: ResourceId = { ...sample(A1, HOME, name).id, uid: "" };
  try {
    const stored = await storage.read("strong", id).catch(() => undefined);
    if (stored !== undefined && text.endsWith("7")) {
      await storage.deleteCAS(stored.id, stored.version);
      return;
    }
    const written = stored ?? sample(A1, HOME, name);
    await storage.writeCAS({ ...written, data, metadata: { blob: sha256 } });
  } catch (error) {
    // Another writer was faster.
    if (!isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
  }
}

/** What the watch delivers, up to a resource with this name. */
async function eventsUpTo(watch: Watch, name: string): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of watch) {
    events.push(event);
    if ("resource" in event && event.resource.id.name === name) break;
  }
  return events;
}

/** What events up to a revision add up to. */
function replay(events: readonly WatchEvent[], revision: number): readonly Resource[] {
  const state = new Map<string, Resource>();
  for (const event of events) {
    if (!("resource" in event)) continue;
    if (Number(event.cursor?.slice(event.cursor.lastIndexOf(".") + 1)) > revision) break;
    if (event.operation === "delete") state.delete(event.resource.id.name);
    else state.set(event.resource.id.name, event.resource);
  }
  return [...state.values()];
}

function contentsOf(resources: readonly Resource[]): readonly string[] {
  return resources
    .map(({ id, data }) => `${id.name}: ${Buffer.from(data?.value ?? []).toString()}`)
    .toSorted();
}
