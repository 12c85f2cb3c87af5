import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../../engine/memory.ts";
import type { StorageBackend } from "../../types.ts";
import {
  AcknowledgesBeforeCommit,
  ComparesThenSwaps,
  dropEvents,
  ForgetsGuards,
  LosesTheTail,
  ManglesEvents,
  PublishesBeforeCommit,
  ReadsFromTheFollower,
  repeatEvents,
  swapEvents,
  TearsBatches,
} from "./broken-engines.ts";
import { checkHistory } from "./check-history.ts";
import type { Violation } from "./history.ts";
import { runWorkload } from "./workload.ts";

type Break = (inner: StorageBackend, seed: number) => StorageBackend;

const broken: readonly (readonly [string, Break, readonly Violation["rule"][]])[] = [
  [
    "acknowledging before committing",
    (inner) => new AcknowledgesBeforeCommit(inner),
    ["linearizability"],
  ],
  [
    "publishing before committing",
    (inner) => new PublishesBeforeCommit(inner),
    ["monotonic-reads"],
  ],
  ["forgotten guards", (inner) => new ForgetsGuards(inner), ["guard"]],
  ["torn batches", (inner) => new TearsBatches(inner), ["phantom-event", "batch"]],
  ["comparing, then swapping", (inner) => new ComparesThenSwaps(inner), ["linearizability"]],
  ["strong reads of a follower", (inner) => new ReadsFromTheFollower(inner), ["linearizability"]],
  [
    "events in another order",
    (inner, seed) => new ManglesEvents(inner, swapEvents, seed),
    ["event-order"],
  ],
  ["lost events", (inner, seed) => new ManglesEvents(inner, dropEvents, seed), ["missing-event"]],
  [
    "repeated events",
    (inner, seed) => new ManglesEvents(inner, repeatEvents, seed),
    ["repeated-event"],
  ],
];

describe("the history checker catches", () => {
  test.each(broken)("%s", async (_, breakStore, rules) => {
    const found = new Set<string>();
    for (let seed = 1; seed <= 3; seed += 1) {
      await using storage = breakStore(createMemoryStorage(), seed);
      const history = await runWorkload({ instances: [storage], seed, operations: 400 });
      for (const { rule } of checkHistory(history)) found.add(rule);
    }
    for (const rule of rules) expect(found).toContain(rule);
  });

  test("acknowledged writes that a crash has lost", async () => {
    await using storage = new LosesTheTail(createMemoryStorage());
    const faults: Promise<void>[] = [];
    const history = await runWorkload({
      instances: [storage],
      seed: 1,
      disturb: (operations) => {
        if (operations === 200) faults.push(storage.sync());
        if (operations === 260) faults.push(storage.crash());
      },
      heal: async () => void (await Promise.all(faults)),
    });
    const rules = checkHistory(history).map((violation) => violation.rule);
    expect(rules).toContain("linearizability");
  });
});
