import { silentLogger } from "@stackwright/base/logger";
import { isEnded, type StackReference } from "@stackwright/core";
import { Run_Mode, RunTrigger, StackOutputs } from "@stackwright/proto/stackwright";
import { StorageError } from "@stackwright/storage";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, STACK_OUTPUTS_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LiveView } from "../live/live-view.ts";
import { cancelRun } from "../queue/cancel.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { settleByClock } from "../testing/settle-by-clock.ts";
import { fireTriggers } from "./fire-triggers.ts";
import { TriggerReaction } from "./trigger-reaction.ts";

const FOLLOWERS = 3;
const SERVERS = 3;

/** How a server reaches the store: not at all, with answers to writes that get lost after they were done, or well. */
type Reach = "well" | "away" | "deaf";

const step = fc.record({
  what: fc.constantFrom("publish", "publish", "end", "reach", "stop", "start", "sweep", "wait"),
  server: fc.nat(SERVERS - 1),
  stack: fc.nat(FOLLOWERS - 1),
  reach: fc.constantFrom<Reach>("well", "away", "deaf"),
});

/** Servers that react to the outputs of one stack, each with its own way to the store. */
async function start() {
  const fixture = createRunFixture();
  const { parts, storage, put, tenancy, clock } = fixture;
  const producer = await fixture.stack("network");
  const stacks: StackReference[] = [];
  for (let index = 0; index < FOLLOWERS; index += 1) {
    const stack = await fixture.stack(`site${index}`);
    stacks.push(stack);
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
  const reaches: Reach[] = Array.from({ length: SERVERS }, () => "well");
  const away = () => new StorageError("STORAGE_INCONSISTENT", "the store is away by the test");
  const behind = (server: number): typeof storage =>
    new Proxy(storage, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        const call = member.bind(target) as (...given: unknown[]) => unknown;
        if (!["read", "list", "batch"].includes(String(key))) return call;
        return async (...given: unknown[]) => {
          if (reaches[server] === "away") throw away();
          const result = await call(...given);
          if (key === "batch" && reaches[server] === "deaf") throw away();
          return result;
        };
      },
    });
  const running = new Map<number, () => Promise<void>>();
  const serverParts = (server: number) => ({
    ...parts,
    storage: behind(server),
    logger: silentLogger,
  });
  const serve = async (server: number): Promise<void> => {
    if (running.has(server)) return;
    const live = new LiveView({ storage, logger: silentLogger });
    const reaction = new TriggerReaction(serverParts(server), live.dueTriggers);
    running.set(server, async () => {
      running.delete(server);
      // What is being written waits by this clock.
      const closed = reaction[Symbol.asyncDispose]();
      await settled(closed);
      live[Symbol.dispose]();
    });
    await live.stackChanges.whenSynced();
  };
  const settled = async <T>(work: Promise<T>) => settleByClock(clock, work);
  const runs = async () =>
    (await storage.list("strong", RUN_KIND.type, tenancy, "")).map((one) =>
      decodeRecord(RUN_KIND, one),
    );
  return {
    stacks,
    reaches,
    running,
    serve,
    settled,
    runs,
    clock,
    parts,
    trigger: async (index: number) => {
      const stack = stacks[index];
      if (stack === undefined) throw new Error("no stack");
      const id = idOf(SERVER_KINDS.trigger, memberPlace(stack, `T${index}`));
      return decodeRecord(SERVER_KINDS.trigger, await storage.read("strong", id));
    },
    publish: async (revision: bigint) =>
      put(STACK_OUTPUTS_KIND, stackPlace(producer), StackOutputs.create({ revision })),
    sweep: async (server: number) =>
      settled(fireTriggers(serverParts(server), { signal: new AbortController().signal })).catch(
        (error: unknown) => {
          if (!(error instanceof StorageError)) throw error;
          return 0;
        },
      ),
  };
}

it("no change of outputs is lost and none leads to two runs, whatever becomes of servers and their ways to the store", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const world = await start();
      const { stacks, reaches, running, serve, settled, runs, clock, parts } = world;
      let revision = 0n;
      for (const { what, server, stack, reach } of steps) {
        if (what === "publish") await world.publish((revision += 1n));
        else if (what === "reach") reaches[server] = reach;
        else if (what === "start") await serve(server);
        else if (what === "stop") await running.get(server)?.();
        else if (what === "sweep") await world.sweep(server);
        else if (what === "wait") await clock.advance(1_000);
        else {
          // Its turn is over: what changes from now on needs another run.
          const id = stacks[stack]?.stack;
          const open = (await runs()).filter((run) => run.stack === id && !isEnded(phaseOf(run)));
          for (const { id: run } of open) {
            const reference = { stack: { account: "acme", project: "web", stack: id ?? "" }, run };
            await settled(cancelRun(parts, reference, { actor: "ann" }));
          }
        }
      }
      // The last change, which every server may see; then all is well again, and one of them looks for what was left.
      await world.publish((revision += 1n));
      await clock.advance(500);
      reaches.fill("well");
      await serve(0);
      await world.sweep(0);
      for (const stop of running.values()) await stop();
      const made = await runs();
      for (const [index, { stack }] of stacks.entries()) {
        const own = made.filter((run) => run.stack === stack);
        const { revision: noted, lastRun } = await world.trigger(index);
        expect(noted).toBe(revision);
        const open = own.filter((run) => !isEnded(phaseOf(run)));
        expect(open.map(({ id }) => id)).toEqual([lastRun]);
        const causes = own.map(({ cause }) => cause);
        expect(causes.toSorted()).toEqual([...new Set(causes)].toSorted());
      }
    }),
    { numRuns: 40 },
  );
});
