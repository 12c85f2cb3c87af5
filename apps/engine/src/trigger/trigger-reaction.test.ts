import { silentLogger } from "@stackwright/base/logger";
import { type Run, Run_Mode, RunTrigger, StackOutputs } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, STACK_OUTPUTS_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LiveView } from "../live/live-view.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { TriggerReaction } from "./trigger-reaction.ts";

/** Stacks that follow the outputs of one stack, and servers that react to it. */
async function start({
  followers,
  servers,
  storage: given = createMemoryStorage(),
}: {
  followers: number;
  servers: number;
  storage?: StorageBackend;
}) {
  const fixture = createRunFixture(given);
  const { parts, storage, put, tenancy, clock } = fixture;
  const producer = await fixture.stack("network");
  for (let index = 0; index < followers; index += 1) {
    const stack = await fixture.stack(`site${index}`);
    await transact(parts, async (tx) => {
      tx.update(await readQueue(tx, stack), { configuration: "c".repeat(64) });
    });
    const trigger = RunTrigger.create({
      id: `T${index}`,
      stackName: `site${index}`,
      producer: producer.stack,
      producerName: "network",
      producerProject: "web",
      mode: Run_Mode.MODE_APPLY,
      actor: "ann",
    });
    await put(SERVER_KINDS.trigger, memberPlace(stack, `T${index}`), trigger);
  }
  const closing: (() => Promise<void>)[] = [];
  const serve = async () => {
    const live = new LiveView({ storage, logger: silentLogger });
    const reaction = new TriggerReaction({ ...parts, logger: silentLogger }, live.dueTriggers);
    closing.push(async () => {
      await reaction[Symbol.asyncDispose]();
      live[Symbol.dispose]();
    });
    await live.stackChanges.whenSynced();
  };
  for (let index = 0; index < servers; index += 1) await serve();
  const stop = async () => Promise.all(closing.map(async (close) => close()));
  onTestFinished(async () => {
    await stop();
  });
  return {
    serve,
    stop,
    publish: async (revision: bigint) =>
      put(STACK_OUTPUTS_KIND, stackPlace(producer), StackOutputs.create({ revision })),
    causes: async (): Promise<readonly string[]> => {
      // Servers that were in each other's way wait by this clock.
      await clock.advance(50);
      const found = await storage.list("strong", RUN_KIND.type, tenancy, "");
      return found.map((one): Run => decodeRecord(RUN_KIND, one)).map(({ cause }) => cause);
    },
  };
}

it("each follower has one run as soon as the outputs change, however many servers see it", async () => {
  const { publish, causes } = await start({ followers: 20, servers: 3 });
  await publish(1n);
  await expect.poll(causes, { interval: 2 }).toHaveLength(20);
  expect(new Set(await causes())).toEqual(new Set(["trigger:web/network@1"]));
  // The runs that wait cover the next change.
  await publish(2n);
  for (let round = 0; round < 20; round += 1) expect(await causes()).toHaveLength(20);
});

it("a trigger whose run the store is slow to take keeps no other waiting, and is awaited at the end", async () => {
  const held = Promise.withResolvers<void>();
  const storage = overBatches(createMemoryStorage(), async (operations, write) => {
    const isSlow = operations.some(
      (one) => one.kind === "write" && one.resource.id.name.endsWith(".T0"),
    );
    if (isSlow) await held.promise;
    return write();
  });
  const { publish, causes, stop } = await start({ followers: 20, servers: 1, storage });
  await publish(1n);
  await expect.poll(causes, { interval: 2 }).toHaveLength(19);
  const stopped = stop();
  held.resolve();
  await stopped;
  expect(await causes()).toHaveLength(20);
});

it("what changed while no server was there is caught up with", async () => {
  const { publish, causes, serve } = await start({ followers: 3, servers: 0 });
  await publish(4n);
  expect(await causes()).toEqual([]);
  await serve();
  await expect.poll(causes, { interval: 2 }).toHaveLength(3);
});

it("a reaction that is closed requests nothing more", async () => {
  const { publish, causes, stop } = await start({ followers: 3, servers: 1 });
  await stop();
  await publish(1n);
  for (let round = 0; round < 10; round += 1) expect(await causes()).toEqual([]);
});
