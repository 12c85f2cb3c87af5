import assert from "node:assert/strict";
import { join } from "node:path";
import type { RestorePoint } from "../../backup/later-commits.ts";
import { restoreBackup, restoreTargetOf } from "../../backup/restore-backup.ts";
import { writeBackup } from "../../backup/write-backup.ts";
import type { BlobReferenceKind } from "../../blob/collect-unreferenced.ts";
import type { BlobStore } from "../../blob/types.ts";
import { createMemoryStorage } from "../../engine/memory.ts";
import type { CommitHistory } from "../../feed/commit-history.ts";
import type { Resource } from "../../resource.ts";
import type { BatchOperation, StorageBackend } from "../../types.ts";
import { assertCode } from "../assertions.ts";
import { createRandom, type Random } from "../random.ts";
import { A1, EVERYWHERE, HOME, payload, sample } from "../samples.ts";

const NAMES = 12;
const STEPS_BEFORE = 12;
const STEPS = 30;
/** Every how manieth step is restored. */
const RESTORED_EVERY = 9;

/** The kind of the samples: a resource names its blob in its metadata. */
export const BLOB_KINDS: readonly BlobReferenceKind[] = [
  { type: A1, blobs: ({ metadata }) => (metadata["blob"] === undefined ? [] : [metadata["blob"]]) },
];

/** A store with a history, and what its moments are compared with. */
interface RestoreMoments {
  readonly storage: StorageBackend & CommitHistory;
  readonly blobs: BlobStore;
  /** A folder that exists. */
  readonly scratch: string;
  readonly seed: number;
  /** The time by which the store dates its commits; later with each call. */
  readonly nowMs: () => Promise<number>;
}

/** The store after a step. */
interface Moment {
  readonly revision: number;
  readonly timeMs: number;
  readonly content: ReadonlyMap<string, string>;
}

/**
 * Makes a backup between random steps, and shows that a restore to a later revision or time is the store of then, with the
 * blobs that are referred to, and that none ends within a batch.
 */
export async function checkRestoreMoments(parts: RestoreMoments): Promise<void> {
  const { storage, blobs, scratch, seed, nowMs } = parts;
  const random = createRandom(seed);
  const stored = new Map<string, Resource>();
  const step = async (): Promise<Moment> => {
    await writeStep(storage, blobs, stored, random);
    const { revision } = await storage.readCommits(Number.MAX_SAFE_INTEGER);
    const texts = Array.from(stored, ([name, { generation }]): [string, string] => [
      name,
      generation,
    ]);
    return { revision, timeMs: await nowMs(), content: new Map(texts) };
  };
  for (let count = 0; count < STEPS_BEFORE; count += 1) await step();
  const directory = join(scratch, `moments ${seed}`);
  const manifest = await writeBackup({ storage, blobs, directory });
  const moments: Moment[] = [];
  while (moments.length < STEPS) moments.push(await step());

  const restored = async (point: RestorePoint): Promise<ReadonlyMap<string, string>> => {
    await using target = createMemoryStorage();
    const later = { point, history: storage, blobs, kinds: BLOB_KINDS };
    const result = await restoreBackup({
      directory,
      target: restoreTargetOf(target),
      blobs,
      later,
    });
    assert.deepEqual(result.lost, []);
    const found = await target.list("strong", A1, EVERYWHERE, "");
    assert.equal(found.length, result.resources);
    return new Map(found.map(({ id, generation }) => [id.name, generation]));
  };
  for (let index = 0; index < moments.length; index += RESTORED_EVERY) {
    const { revision, timeMs, content } = moments[index] as Moment;
    assert.deepEqual(await restored({ revision }), content, `revision ${revision}`);
    assert.deepEqual(await restored({ timeMs }), content, `time ${timeMs}`);
  }

  const before = moments.at(-1)?.revision ?? 0;
  const names = ["batch 1", "batch 2", "batch 3"];
  await storage.batch(
    names.map((name) => ({
      kind: "write",
      resource: sample(A1, HOME, name, { generation: name }),
    })),
  );
  for (const revision of [before + 1, before + 2]) {
    const error = await assertCode(restored({ revision }), "STORAGE_INVALID_ARGUMENT");
    assert.match(error.message, new RegExp(`name ${before} or ${before + 3}$`));
  }
  const whole = await restored({ revision: before + 3 });
  for (const name of names) assert.equal(whole.get(name), name);
  const beyond = await assertCode(restored({ revision: before + 4 }), "STORAGE_INVALID_ARGUMENT");
  assert.match(beyond.message, /the history ends at revision/);
  const early = { revision: manifest.store.revision - 1 };
  await assertCode(restored(early), "STORAGE_INVALID_ARGUMENT");
}

/** A write, a deletion or a batch of both, of resources that name a blob of their own. */
async function writeStep(
  storage: StorageBackend,
  blobs: BlobStore,
  stored: Map<string, Resource>,
  random: Random,
): Promise<void> {
  const count = random.below(3) === 0 ? 3 : 1;
  const names = new Set(Array.from({ length: count }, () => `name ${random.below(NAMES)}`));
  const operations: BatchOperation[] = [];
  for (const name of names) {
    const known = stored.get(name);
    if (known !== undefined && random.below(3) === 0) {
      operations.push({ kind: "delete", id: known.id, version: known.version });
      continue;
    }
    const generation = `${name} ${random.below(1_000_000)}`;
    const data = payload(generation);
    const { sha256 } = await blobs.write(data.value, { owner: "billing" });
    const version = known?.version ?? "";
    const parts = { data, generation, version, metadata: { blob: sha256 } };
    operations.push({ kind: "write", resource: sample(A1, HOME, name, parts) });
  }
  const results = await storage.batch(operations);
  for (const [index, name] of [...names].entries()) {
    const result = results[index];
    if (result === undefined) stored.delete(name);
    else stored.set(name, result);
  }
}
