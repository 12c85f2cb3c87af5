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
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { settleByClock } from "../testing/settle-by-clock.ts";
import { fireTriggers } from "./fire-triggers.ts";
import { TriggerReaction } from "./trigger-reaction.ts";

const STACKS = 50;
const ROOTS = 5;
const SERVERS = 3;
/** Changes of the outputs of stacks that follow none; each leads to many more. With STACKWRIGHT_RUNS=50 they are 1,000. */
const CHANGES = Math.round(20 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1));
/** It grows with the changes, and leaves room for a machine that has much else to do. */
const LIMIT_MS = 60_000 + 3_000 * CHANGES;

/** The stacks that one follows: a chain of eleven, a fan-out of twenty, and fifteen of two each. */
function producersOf(index: number): readonly number[] {
  if (index < ROOTS) return [];
  if (index < 15) return [index - 1];
  if (index < 35) return [0];
  return [1, index - 20];
}

interface Server {
  /** What it does with the store comes to nothing from now on: before it is done, or after. */
  die(how: "before" | "after"): void;
  close(): Promise<void>;
}

async function start() {
  const fixture = createRunFixture();
  const { parts, storage, put, tenancy, clock } = fixture;
  const stacks: StackReference[] = [];
  for (let index = 0; index < STACKS; index += 1) {
    const stack = await fixture.stack(`s${index}`);
    stacks.push(stack);
    await transact(parts, async (tx) => {
      tx.update(await readQueue(tx, stack), { configuration: "c".repeat(64) });
    });
    for (const producer of producersOf(index)) {
      const trigger = RunTrigger.create({
        id: `T${producer}`,
        stackName: `s${index}`,
        producer: stacks[producer]?.stack ?? "",
        producerName: `s${producer}`,
        producerProject: "web",
        mode: Run_Mode.MODE_APPLY,
        actor: "ann",
      });
      await put(SERVER_KINDS.trigger, memberPlace(stack, `T${producer}`), trigger);
    }
  }
  const stackOf = (index: number): StackReference => {
    const stack = stacks[index];
    if (stack === undefined) throw new Error("no stack");
    return stack;
  };
  const settled = async <T>(work: Promise<T>) => settleByClock(clock, work);
  const serve = async (): Promise<Server> => {
    let death: "before" | "after" | undefined;
    const gone = () => new StorageError("STORAGE_INCONSISTENT", "the server is dead by the test");
    const own = new Proxy(storage, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        const call = member.bind(target) as (...given: unknown[]) => unknown;
        if (!["read", "list", "batch"].includes(String(key))) return call;
        return async (...given: unknown[]) => {
          if (death === "before") throw gone();
          const result = await call(...given);
          if (death !== undefined) throw gone();
          return result;
        };
      },
    });
    const live = new LiveView({ storage, logger: silentLogger });
    const reaction = new TriggerReaction(
      { ...parts, storage: own, logger: silentLogger },
      live.dueTriggers,
    );
    await live.stackChanges.whenSynced();
    return {
      die: (how) => {
        death = how;
        live[Symbol.dispose]();
      },
      close: async () => {
        await settled(reaction[Symbol.asyncDispose]());
        live[Symbol.dispose]();
      },
    };
  };
  const revisions = Array.from({ length: STACKS }, () => 0n);
  const publish = async (index: number): Promise<void> => {
    const revision = (revisions[index] ?? 0n) + 1n;
    revisions[index] = revision;
    await put(STACK_OUTPUTS_KIND, stackPlace(stackOf(index)), StackOutputs.create({ revision }));
  };
  const runs = async () =>
    (await storage.list("strong", RUN_KIND.type, tenancy, "")).map((one) =>
      decodeRecord(RUN_KIND, one),
    );
  /** The runs that have their stacks. */
  const current = async () =>
    (await storage.list("strong", SERVER_KINDS.queue.type, tenancy, ""))
      .map((one) => ({
        stack: one.id.name,
        run: decodeRecord(SERVER_KINDS.queue, one).current,
      }))
      .filter(({ run }) => run !== "");
  const seen = new Map<number, readonly (bigint | undefined)[]>();
  /** The run of a stack begins, reads what it follows, and ends with other outputs of its own. */
  const execute = async (id: string, run: string): Promise<void> => {
    const index = stacks.findIndex(({ stack }) => stack === id);
    await settled(cancelRun(parts, { stack: stackOf(index), run }, { actor: "ann" }));
    seen.set(
      index,
      producersOf(index).map((producer) => revisions[producer]),
    );
    await publish(index);
  };
  return { stacks, serve, settled, publish, execute, runs, current, seen, revisions, ...fixture };
}

const step = fc.record({
  root: fc.nat(ROOTS - 1),
  /** Runs that are executed during the change. */
  executed: fc.nat(6),
  /** The server that dies then, and another one takes its place. */
  dies: fc.option(
    fc.record({
      server: fc.nat(SERVERS - 1),
      how: fc.constantFrom<"before" | "after">("before", "after"),
    }),
    { freq: 4 },
  ),
  /** Changes that come at once. */
  more: fc.nat(2),
  /** Whether what is done about them is over before the next step. */
  waits: fc.boolean(),
});

it("changes of outputs run through chains and fan-outs of 50 stacks, each once, while servers are killed", {
  timeout: LIMIT_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: CHANGES, maxLength: CHANGES, size: "max" }),
      async (steps) => {
        const world = await start();
        const { stacks, publish, execute, runs, seen, revisions, settled, clock, parts } = world;
        const servers: Server[] = [];
        for (let index = 0; index < SERVERS; index += 1) servers.push(await world.serve());
        const dead: Server[] = [];
        const executeSome = async (most: number): Promise<number> => {
          const open = (await world.current()).slice(0, most);
          for (const { stack, run } of open) await execute(stack, run);
          return open.length;
        };
        for (const { root, executed, dies, more, waits } of steps) {
          const executing = executeSome(executed);
          for (let count = 0; count <= more; count += 1) await publish((root + count) % ROOTS);
          const victim = dies === null ? undefined : servers[dies.server];
          if (dies !== null && victim !== undefined) {
            victim.die(dies.how);
            dead.push(victim);
            servers[dies.server] = await world.serve();
          }
          await executing;
          if (waits) await clock.advance(50);
        }
        const sweep = async (): Promise<number> =>
          settled(
            fireTriggers(
              { ...parts, logger: silentLogger },
              { signal: new AbortController().signal },
            ),
          );
        for (let round = 0; ; round += 1) {
          // As deep as the graph is, and not without end.
          expect(round).toBeLessThan(100);
          const ended = await executeSome(STACKS);
          await clock.advance(200);
          if (ended + (await sweep()) === 0 && (await world.current()).length === 0) break;
        }
        for (const server of [...servers, ...dead]) await server.close();

        const made = Map.groupBy(await runs(), ({ stack }) => stack);
        for (const [index, { stack }] of stacks.entries()) {
          const producers = producersOf(index);
          const causes = (made.get(stack) ?? []).map(({ cause }) => cause);
          expect((made.get(stack) ?? []).every((run) => isEnded(phaseOf(run)))).toBe(true);
          // Each once, and none that nothing led to.
          expect(causes.toSorted()).toEqual([...new Set(causes)].toSorted());
          for (const cause of causes) {
            const [, name, revision] = /^trigger:web\/s(\d+)@(\d+)$/.exec(cause) ?? [];
            expect(producers).toContain(Number(name));
            expect(BigInt(revision ?? "0")).toBeLessThanOrEqual(revisions[Number(name)] ?? 0n);
          }
          // None was lost: the last run of each had the last outputs of all that it follows.
          const last = producers.map((producer) => revisions[producer]);
          if (last.some((revision) => revision !== 0n)) expect(seen.get(index)).toEqual(last);
          else expect(causes).toEqual([]);
        }
      },
    ),
    { numRuns: 2 },
  );
});
