import assert from "node:assert/strict";
import { resourceKey } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import type { StorageBackend, Watch } from "../../types.ts";
import { assertSameSet, nextEvent, settledList } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { createRandom } from "../random.ts";
import { A1, HOME, sample } from "../samples.ts";

/** Watches opened and read while others write. */
export const WATCH_RACE_SCENARIOS: ScenarioGroup = {
  title: "watchList beside writers",
  scenarios: [
    {
      title: "folds to the final list, without repeats and steps back, wherever it starts",
      run: async ({ storage, factor }) => {
        const random = createRandom(1);
        for (let round = 0; round < 20 * factor; round += 1) {
          const writing = scribble(storage, round, 40);
          for (let turns = random.below(60); turns > 0; turns -= 1) await Promise.resolve();
          using watch = await storage.watchList(A1, HOME, `r${round}-`);
          await writing;
          const marker = await storage.writeCAS(sample(A1, HOME, `r${round}-~marker`));
          const folded = await foldUntil(watch, marker);
          assertSameSet([...folded.values()], await settledList(storage, A1, HOME, `r${round}-`));
        }
      },
    },
    {
      title: "takes its snapshot at one point in time",
      applies: (capabilities) => capabilities.endOfSnapshot,
      run: async ({ storage, factor }) => {
        const steps = 100 * factor;
        const writer = { running: true };
        const token = (step: number): Resource => sample(A1, HOME, `token-${step}`);
        let held = await storage.writeCAS(token(0));
        const moving = (async () => {
          for (let step = 1; step <= steps; step += 1) {
            const next = await storage.writeCAS(token(step));
            await storage.deleteCAS(held.id, held.version);
            held = next;
          }
          writer.running = false;
        })();
        while (writer.running) {
          using watch = await storage.watchList(A1, HOME, "token-", { endOfSnapshot: true });
          const numbers: number[] = [];
          for (;;) {
            const event = await nextEvent(watch);
            if (!("resource" in event)) break;
            numbers.push(Number(event.resource.id.name.slice("token-".length)));
          }
          numbers.sort((left, right) => left - right);
          const [first, second] = numbers;
          assert.ok(first !== undefined, "a snapshot without the token");
          assert.ok(numbers.length <= 2, `a snapshot of ${numbers.join(", ")}`);
          if (second !== undefined) assert.equal(second, first + 1);
        }
        await moving;
      },
    },
    {
      title: "delivers what was committed, per resource in order, none twice",
      run: async ({ storage, factor }) => {
        using watch = await storage.watchList(A1, HOME, "k");
        const committed = new Map<string, string[]>();
        const writers = Array.from({ length: 16 }, async (_, writer) => {
          const random = createRandom(writer);
          for (let count = 0; count < 20 * factor; count += 1) {
            const name = `k${writer}-${random.below(20)}`;
            const key = resourceKey(sample(A1, HOME, name).id);
            const versions = committed.get(key) ?? [];
            committed.set(key, versions);
            const stored = await storage.writeCAS(
              sample(A1, HOME, name, { version: versions.at(-1) ?? "" }),
            );
            versions.push(stored.version);
          }
        });
        const done = Promise.all(writers).then(() =>
          storage.writeCAS(sample(A1, HOME, "k~marker")),
        );
        const delivered = new Map<string, string[]>();
        for (;;) {
          const event = await nextEvent(watch);
          assert.ok(event.operation === "upsert");
          if (event.resource.id.name === "k~marker") break;
          const key = resourceKey(event.resource.id);
          delivered.set(key, [...(delivered.get(key) ?? []), event.resource.version]);
        }
        await done;
        assert.deepEqual(delivered, committed);
      },
    },
  ],
};

/** Creates, updates and deletes a handful of resources, one after the other. */
async function scribble(storage: StorageBackend, round: number, steps: number): Promise<void> {
  const random = createRandom(round + 1_000);
  const stored = new Map<string, Resource>();
  for (let step = 0; step < steps; step += 1) {
    const name = `r${round}-${random.below(6)}`;
    const held = stored.get(name);
    if (held !== undefined && random.below(3) === 0) {
      await storage.deleteCAS(held.id, held.version);
      stored.delete(name);
    } else {
      stored.set(name, await storage.writeCAS(held ?? sample(A1, HOME, name)));
    }
  }
}

/** Applies the events of a watch to a map, up to a marker, and asserts what no watch may do. */
async function foldUntil(watch: Watch, marker: Resource): Promise<Map<string, Resource>> {
  const folded = new Map<string, Resource>();
  const seen = new Set<string>();
  for (;;) {
    const event = await nextEvent(watch);
    assert.ok("resource" in event);
    const key = resourceKey(event.resource.id);
    const step = `${event.operation} ${key} ${event.resource.version}`;
    assert.ok(!seen.has(step), `${step} came twice`);
    seen.add(step);
    if (event.operation === "delete") {
      assert.equal(folded.get(key)?.version, event.resource.version, "deletes what is there");
      folded.delete(key);
    } else {
      folded.set(key, event.resource);
    }
    if (event.resource.version === marker.version) return folded;
  }
}
