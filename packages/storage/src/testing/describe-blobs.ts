import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { describe, test } from "vitest";
import type { BlobStoreOptions } from "../blob/blob-store.ts";
import type { BlobEntry, BlobGcOptions, BlobGcResult, BlobStore } from "../blob/types.ts";
import { isStorageError } from "../errors.ts";
import { assertCode } from "./assertions.ts";
import { blobQuotaScenarios } from "./blob-quota-scenarios.ts";
import { createRandom } from "./random.ts";

/** One empty place for blobs, and instances over it. */
export interface BlobHarness extends AsyncDisposable {
  /** Opens an instance; a second one beside it only if the store is shared. */
  open(options?: BlobStoreOptions): Promise<BlobStore>;
  /** Changes one stored byte of a blob. Engines that leave it out are not tried with damage. */
  damage?(sha256: string): Promise<void>;
  /** Collects in place of the instances, where they cannot. */
  collect?(options: BlobGcOptions): Promise<BlobGcResult>;
}

const CHUNK = 64;

/** Registers one case, with options of the store that it works with. */
export type BlobScenario = (
  title: string,
  run: (parts: BlobScenarioParts) => Promise<void>,
  options?: BlobStoreOptions,
) => void;

/** What a case works with. */
interface BlobScenarioParts {
  readonly blobs: BlobStore;
  readonly harness: BlobHarness;
  readonly collect: (options: BlobGcOptions) => Promise<BlobGcResult>;
}

/** Registers the conformance suite of blob stores with vitest, one new store per test. */
export function describeBlobs(
  name: string,
  create: () => Promise<BlobHarness>,
  features: { readonly damage: boolean },
): void {
  const scenario: BlobScenario = (title, run, options = {}) => {
    test(title, async () => {
      await using harness = await create();
      await using blobs = await harness.open({ chunkBytes: CHUNK, ...options });
      const collect = (wanted: BlobGcOptions) => harness.collect?.(wanted) ?? blobs.collect(wanted);
      await run({ blobs, harness, collect });
    });
  };

  describe(`${name} keeps the blob contract`, () => {
    scenario(
      "lists every blob once, in the order of digests, with its owners",
      async ({ blobs }) => {
        const listed: BlobEntry[] = [];
        const expected: BlobEntry[] = [];
        for (let size = 0; size < 12; size += 1) {
          const bytes = randomBytes(size, size);
          const owners = ["api", "web"].slice(0, size % 3);
          if (owners.length === 0) await blobs.write(bytes);
          for (const owner of owners) await blobs.write(bytes, { owner });
          expected.push({ sha256: digestOf(bytes), size, owners });
        }
        try {
          for await (const blob of blobs.list()) {
            listed.push({ ...blob, owners: blob.owners.toSorted() });
          }
        } catch (error) {
          // Over a connection: what is listed there is all that the server stores.
          if (isStorageError(error, "STORAGE_UNSUPPORTED")) return;
          throw error;
        }
        assert.deepEqual(
          listed,
          expected.toSorted((one, other) => (one.sha256 < other.sha256 ? -1 : 1)),
        );
      },
    );

    for (const size of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 10 * CHUNK + 7]) {
      scenario(`gives back ${size} bytes, and every part of them`, async ({ blobs }) => {
        const bytes = randomBytes(size, size);
        const reference = await blobs.write(bytes);
        assert.deepEqual(reference, { sha256: digestOf(bytes), size });
        assert.deepEqual(await readAll(blobs, reference.sha256), bytes);
        for (const offset of [0, 1, CHUNK, size - 1, size, size + 5].filter((at) => at >= 0)) {
          for (const length of [0, 1, CHUNK, size]) {
            const part = await readAll(blobs, reference.sha256, { offset, length });
            assert.deepEqual(part, bytes.subarray(offset, offset + length));
          }
        }
      });
    }

    scenario(
      "takes a stream of pieces of any size whose buffers are used again",
      async ({ blobs }) => {
        const bytes = randomBytes(2_000, 1);
        async function* pieces() {
          const buffer = new Uint8Array(200);
          const random = createRandom(1);
          for (let at = 0; at < bytes.length; ) {
            const part = bytes.subarray(at, at + random.below(200));
            buffer.set(part);
            yield buffer.subarray(0, part.length);
            at += part.length;
          }
        }
        const { sha256 } = await blobs.write(pieces());
        assert.equal(sha256, digestOf(bytes));
        assert.deepEqual(await readAll(blobs, sha256), bytes);
      },
    );

    scenario("leaves nothing of a content that breaks off or is another one", async ({ blobs }) => {
      const bytes = randomBytes(500, 2);
      async function* broken() {
        yield bytes;
        throw new Error("the source broke");
      }
      await assert.rejects(blobs.write(broken()), /the source broke/);
      const other = { sha256: digestOf(randomBytes(1, 3)) };
      await assertCode(blobs.write(bytes, { expected: other }), "STORAGE_INVALID_ARGUMENT");
      await assertCode(blobs.write(bytes, { expected: { size: 1 } }), "STORAGE_INVALID_ARGUMENT");
      const signal = AbortSignal.abort(new Error("enough"));
      await assert.rejects(blobs.write(bytes, { signal }), /enough/);
      assert.deepEqual(await blobs.find([digestOf(bytes)]), []);
      await assertCode(readAll(blobs, digestOf(bytes)), "STORAGE_NOT_FOUND");
    });

    scenario(
      "refuses more than its limit and names that are none",
      async ({ blobs }) => {
        await assertCode(blobs.write(randomBytes(101, 1)), "STORAGE_TOO_LARGE");
        assert.equal((await blobs.write(randomBytes(100, 1))).size, 100);
        for (const wrong of ["", "abc", "A".repeat(64), `../${"0".repeat(61)}`]) {
          await assertCode(readAll(blobs, wrong), "STORAGE_INVALID_ARGUMENT");
          await assertCode(blobs.find([wrong]), "STORAGE_INVALID_ARGUMENT");
        }
      },
      { maxBytes: 100 },
    );

    blobQuotaScenarios(scenario);

    scenario("finds what exists, each once", async ({ blobs }) => {
      const first = await blobs.write(randomBytes(10, 1));
      const second = await blobs.write(randomBytes(20, 2));
      const absent = digestOf(randomBytes(30, 3));
      const found = await blobs.find([first.sha256, absent, second.sha256, first.sha256]);
      const bySize = found.toSorted((left, right) => left.size - right.size);
      assert.deepEqual(bySize, [first, second]);
      assert.deepEqual(await blobs.find([]), []);
    });

    scenario("takes the same content from many writers at once", async ({ blobs }) => {
      const bytes = randomBytes(1_000, 4);
      const written = await Promise.all(Array.from({ length: 8 }, () => blobs.write(bytes)));
      assert.equal(new Set(written.map((one) => one.sha256)).size, 1);
      assert.deepEqual(await readAll(blobs, digestOf(bytes)), bytes);
    });

    scenario("keeps blobs over a restart", async ({ blobs, harness }) => {
      const bytes = randomBytes(1_000, 5);
      const { sha256 } = await blobs.write(bytes);
      await blobs.close();
      await assertCode(blobs.write(bytes), "STORAGE_INCONSISTENT");
      await assertCode(readAll(blobs, sha256), "STORAGE_INCONSISTENT");
      await using reopened = await harness.open();
      assert.deepEqual(await readAll(reopened, sha256), bytes);
    });

    if (features.damage) {
      scenario("gives out no damaged byte", async ({ blobs, harness }) => {
        const bytes = randomBytes(300, 6);
        const { sha256 } = await blobs.write(bytes);
        await harness.damage?.(sha256);
        await assertCode(readAll(blobs, sha256), "STORAGE_CORRUPT");
      });
    }

    scenario(
      "collects blobs without references, and nothing else",
      async ({ blobs, collect }) => {
        const kept = await blobs.write(randomBytes(100, 1));
        const doomed = await blobs.write(randomBytes(200, 2));
        await delay(30);
        const held = await blobs.write(randomBytes(300, 3), {});
        const found = await blobs.find([held.sha256]);
        assert.equal(found.length, 1);
        const collected = await collect({ references: () => [kept.sha256] });
        assert.ok(collected.removed >= 1);
        await assertCode(readAll(blobs, doomed.sha256), "STORAGE_NOT_FOUND");
        assert.equal((await readAll(blobs, kept.sha256)).length, 100);
        assert.equal((await blobs.write(randomBytes(200, 2))).sha256, doomed.sha256);
        assert.equal((await readAll(blobs, doomed.sha256)).length, 200);
      },
      { holdMs: 10 },
    );

    scenario("collects nothing that is held", async ({ blobs, collect }) => {
      const { sha256 } = await blobs.write(randomBytes(100, 1));
      const collected = await collect({ references: () => [] });
      assert.equal(collected.removed, 0);
      assert.equal((await readAll(blobs, sha256)).length, 100);
    });

    scenario(
      "does not collect what is found or written again after the marking",
      async ({ blobs, collect }) => {
        const found = await blobs.write(randomBytes(100, 1));
        const written = await blobs.write(randomBytes(200, 2));
        await delay(1_600);
        // Both holds have ended. The writers come while the references are listed.
        const collected = await collect({
          references: async function* () {
            assert.equal((await blobs.find([found.sha256])).length, 1);
            await blobs.write(randomBytes(200, 2));
            yield* [] as string[];
          },
        });
        assert.equal(collected.removed, 0);
        assert.equal((await readAll(blobs, found.sha256)).length, 100);
        assert.equal((await readAll(blobs, written.sha256)).length, 200);
      },
      { holdMs: 1_500 },
    );

    scenario(
      "never takes a blob from a writer that refers to it in time",
      async ({ blobs, collect }) => {
        const references = new Set<string>();
        const writers = { running: true };
        const collecting = (async () => {
          let removed = 0;
          while (writers.running) {
            removed += (await collect({ references: () => [...references] })).removed;
            await delay(1);
          }
          return removed;
        })();
        // Its failure is seen at the end.
        collecting.catch(() => undefined);
        const random = createRandom(7);
        for (let round = 0; round < 40; round += 1) {
          // Few contents, so that writers meet blobs that are just being collected.
          const bytes = randomBytes(150, random.below(3));
          const { sha256 } = await blobs.write(bytes);
          references.add(sha256);
          if (random.below(2) === 0) await delay(random.below(40));
          assert.deepEqual(await readAll(blobs, sha256), bytes);
          references.delete(sha256);
          if (random.below(3) === 0) await delay(320);
        }
        writers.running = false;
        assert.ok((await collecting) > 0, "nothing was collected");
      },
      { holdMs: 300 },
    );

    scenario(
      "removes what writers that went away have left",
      async ({ blobs, collect }) => {
        const paused = Promise.withResolvers<undefined>();
        const waiting = Promise.withResolvers<undefined>();
        async function* stalled() {
          yield randomBytes(200, 1);
          paused.resolve(undefined);
          await waiting.promise;
          yield randomBytes(200, 2);
        }
        const writing = blobs.write(stalled());
        await paused.promise;
        // What was sent may still be under way to the store.
        let abandoned = 0;
        while (abandoned === 0) {
          await delay(50);
          ({ abandoned } = await collect({ references: () => [] }));
        }
        assert.equal(abandoned, 1);
        waiting.resolve(undefined);
        await assertCode(writing, "STORAGE_INCONSISTENT");
      },
      { uploadIdleMs: 20 },
    );
  });
}

async function readAll(
  blobs: BlobStore,
  sha256: string,
  options: { readonly offset?: number; readonly length?: number } = {},
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of blobs.read(sha256, options)) parts.push(part);
  return new Uint8Array(Buffer.concat(parts));
}

function randomBytes(size: number, seed: number): Uint8Array {
  const random = createRandom(seed + 1);
  return Uint8Array.from({ length: size }, () => random.below(256));
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
