import assert from "node:assert/strict";
import { MAX_BATCH_OPERATIONS, type StorageCapabilities } from "../../capabilities.ts";
import type { BatchOperation } from "../../types.ts";
import { nextEvent, nextUpsert } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, HOME, sample } from "../samples.ts";

/** What is legal is carried: bounds are for consumers that fall behind, not for large content. */
export const LARGE_SCENARIOS: ScenarioGroup = {
  title: "large content",
  scenarios: [
    {
      title: "of a large batch reaches every watch, whatever its buffer",
      applies: (capabilities) => capabilities.batch > 0,
      open: { watchBuffer: { events: 1, bytes: 1 } },
      run: async ({ storage, capabilities }) => {
        using one = await storage.watchList(A1, HOME, "");
        using other = await storage.watchList(A1, HOME, "large");
        const operations = largeBatch(capabilities);
        const stored = await storage.batch(operations);
        for (const watch of [one, other]) {
          for (const expected of stored) {
            const { id, version, data } = await nextUpsert(watch);
            assert.equal(id.name, expected?.id.name);
            assert.equal(version, expected?.version);
            assert.equal(data?.value.byteLength, expected?.data?.value.byteLength);
          }
        }
      },
    },
    {
      title: "of a history beyond the buffer reaches a slow watch that resumes",
      applies: (capabilities) => capabilities.resume,
      open: { watchBuffer: { events: 32 } },
      run: async ({ storage }) => {
        const watch = await storage.watchList(A1, HOME, "");
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        const { cursor } = await nextEvent(watch);
        watch.close();
        const written: string[] = [];
        for (let count = 0; count < 200; count += 1) {
          stored = await storage.writeCAS(stored);
          written.push(stored.version);
        }
        using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursor ?? "" });
        const seen: string[] = [];
        while (seen.length < written.length) {
          seen.push((await nextUpsert(resumed)).version);
          // Another call in between: the rest of the history arrives while nobody takes it.
          if (seen.length % 50 === 1) await storage.read("strong", stored.id);
        }
        assert.deepEqual(seen, written);
      },
    },
  ],
};

/** Above the buffers of old; the largest of all takes a busy server longer than a test should. */
const LARGE_BATCH_BYTES = 20 * 1024 * 1024;

/** A batch as large as the engine takes, up to a bound. */
function largeBatch({ batch, limits }: StorageCapabilities): readonly BatchOperation[] {
  const count = Math.min(batch, MAX_BATCH_OPERATIONS, 8);
  const bytes =
    Math.min(limits.dataBytes, Math.floor(Math.min(limits.batchBytes, LARGE_BATCH_BYTES) / count)) -
    1024;
  return Array.from({ length: count }, (_, index) => ({
    kind: "write",
    resource: sample(A1, HOME, `large${index}`, {
      data: { typeUrl: "example.test/Large", value: new Uint8Array(bytes).fill(index) },
    }),
  }));
}
