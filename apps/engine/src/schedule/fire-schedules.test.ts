import { silentLogger } from "@stackwright/base/logger";
import { type Run, Run_Mode, Schedule } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { fireSchedules } from "./fire-schedules.ts";

const CONFIGURATION = "c".repeat(64);
const HOUR_MS = 3_600_000;
/** Of the first hour after the beginning of the clock of the fixture. */
const DUE_MS = Date.parse("2023-11-14T23:00:00Z");
const HOURLY = { cron: "0 * * * *", zone: "UTC", nextAtMs: BigInt(DUE_MS) };

/** A stack with an hourly schedule, and a configuration that was applied. */
async function start(given: Partial<Schedule> = {}) {
  const fixture = createRunFixture();
  const { parts, storage, clock, put } = fixture;
  const stack = await fixture.stack("one");
  const place = memberPlace(stack, "A".repeat(26));
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
  });
  const id = "A".repeat(26);
  const facts = { id, stackName: "one", mode: Run_Mode.MODE_PLAN_ONLY, actor: "ann", ...HOURLY };
  await put(SERVER_KINDS.schedule, place, Schedule.create({ ...facts, ...given }));
  const withLogger = { ...parts, logger: silentLogger };
  return {
    ...fixture,
    stack,
    place,
    fire: async (over: Partial<TransactionParts> = {}) => fireSchedules({ ...withLogger, ...over }),
    schedule: async () =>
      decodeRecord(
        SERVER_KINDS.schedule,
        await storage.read("strong", idOf(SERVER_KINDS.schedule, place)),
      ),
    runs: async (): Promise<readonly Run[]> =>
      (await storage.list("strong", RUN_KIND.type, fixture.tenancy, "")).map((one) =>
        decodeRecord(RUN_KIND, one),
      ),
    end: async (run: string) => cancelRun(parts, { stack, run }, { actor: "ann" }),
    goTo: (ms: number) => clock.skip(ms - clock.wallMs()),
    /** What is awaited, while the pauses between attempts pass. */
    settled: async <T>(awaited: Promise<T>): Promise<T> => {
      const settled = new AbortController();
      const settling = awaited.finally(() => settled.abort());
      while (!settled.signal.aborted) await clock.advance(1);
      return settling;
    },
  };
}

it("a run is requested at its time, and not before", async () => {
  const { fire, runs, schedule, goTo } = await start();
  goTo(DUE_MS - 1);
  expect(await fire()).toBe(0);
  goTo(DUE_MS);
  expect(await fire()).toBe(1);
  expect(await fire()).toBe(0);
  expect(await runs()).toMatchObject([
    {
      actor: "ann",
      automatic: true,
      background: true,
      cause: `schedule:${"A".repeat(26)}@2023-11-14T23:00:00.000Z`,
      configuration: CONFIGURATION,
      mode: Run_Mode.MODE_PLAN_ONLY,
    },
  ]);
  const [run] = await runs();
  expect(await schedule()).toMatchObject({
    lastRun: run?.id,
    lastProblem: "",
    lastAtMs: BigInt(DUE_MS),
    nextAtMs: BigInt(DUE_MS + HOUR_MS),
  });
});

it("many servers make one run of a time", async () => {
  const { fire, runs, goTo, settled } = await start();
  goTo(DUE_MS);
  const fired = await settled(Promise.all(Array.from({ length: 8 }, async () => fire())));
  expect(fired.reduce((sum, one) => sum + one, 0)).toBe(1);
  expect(await runs()).toHaveLength(1);
});

it("a batch whose answer is lost makes one run", async () => {
  const { fire, runs, storage, goTo, settled } = await start();
  goTo(DUE_MS);
  let lost = 0;
  const flaky = overBatches(storage, async (_, write) => {
    const answer = await write();
    lost += 1;
    if (lost > 1) return answer;
    const { StorageError } = await import("@stackwright/storage");
    throw new StorageError("STORAGE_INCONSISTENT", "lost", { details: { outcome: "unknown" } });
  });
  expect(await settled(fire({ storage: flaky }))).toBe(1);
  expect(lost).toBe(1);
  expect(await runs()).toHaveLength(1);
});

it("times that passed while no server worked are made up for once", async () => {
  const { fire, runs, schedule, goTo, end } = await start();
  goTo(DUE_MS + 72 * HOUR_MS + 1);
  expect(await fire()).toBe(1);
  await end((await runs())[0]?.id ?? "");
  expect(await fire()).toBe(0);
  expect((await schedule()).nextAtMs).toBe(BigInt(DUE_MS + 73 * HOUR_MS));
});

it("a server whose clock is ahead makes no time due twice", async () => {
  const { fire, runs, schedule, goTo, end } = await start();
  goTo(DUE_MS);
  const ahead = { wallMs: () => DUE_MS + 2 * HOUR_MS, monotonicMs: () => 0, after: () => never };
  expect(await fire({ clock: ahead })).toBe(1);
  await end((await runs())[0]?.id ?? "");
  goTo(DUE_MS + 2 * HOUR_MS);
  expect(await fire()).toBe(0);
  expect((await schedule()).nextAtMs).toBe(BigInt(DUE_MS + 3 * HOUR_MS));
});

it("while a run of the schedule has not ended, a time is left out with the reason", async () => {
  const { fire, runs, schedule, goTo, end } = await start();
  goTo(DUE_MS);
  await fire();
  goTo(DUE_MS + HOUR_MS);
  expect(await fire()).toBe(0);
  expect((await schedule()).lastProblem).toBe(
    "the run 1 of this schedule has not ended: it is queued",
  );
  await end((await runs())[0]?.id ?? "");
  expect(await fire()).toBe(0);
  goTo(DUE_MS + 2 * HOUR_MS);
  expect(await fire()).toBe(1);
  expect(await schedule()).toMatchObject({ lastProblem: "" });
});

it.each([
  ["paused", { paused: true }],
  ["over", { nextAtMs: 0n }],
])("a schedule that is %s requests nothing", async (_, given) => {
  const { fire, runs, goTo } = await start(given);
  goTo(DUE_MS);
  expect(await fire()).toBe(0);
  expect(await runs()).toEqual([]);
});

it("a single time is due once", async () => {
  const { fire, schedule, goTo } = await start({ cron: "" });
  goTo(DUE_MS + 1);
  expect(await fire()).toBe(1);
  expect((await schedule()).nextAtMs).toBe(0n);
  goTo(DUE_MS + 100 * HOUR_MS);
  expect(await fire()).toBe(0);
});

it("before anything was applied, a time is left out with the reason", async () => {
  const { fire, parts, stack, schedule, goTo, runs } = await start();
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: "" });
  });
  goTo(DUE_MS);
  expect(await fire()).toBe(0);
  expect((await schedule()).lastProblem).toBe(
    "nothing was applied to the stack by this server yet",
  );
  expect(await runs()).toEqual([]);
});

it("where the project has come to ask for approvals, a time is left out with the reason", async () => {
  const { fire, runs, schedule, goTo, stack, put } = await start({
    mode: Run_Mode.MODE_APPLY,
    autoApply: true,
  });
  const rules = { ...defaultProject(stack.project), requiredApprovals: 2 };
  await put(SERVER_KINDS.project, projectPlace(stack), rules);
  goTo(DUE_MS);
  expect(await fire()).toBe(0);
  expect(await runs()).toEqual([]);
  expect(await schedule()).toMatchObject({
    nextAtMs: BigInt(DUE_MS + HOUR_MS),
    lastProblem: expect.stringContaining("are applied after an approval only"),
  });
});

it("a schedule that is damaged, or whose stack is gone, concerns no other", async () => {
  const { fire, put, parts, damage, stack, goTo, runs, storage } = await start();
  await damage(SERVER_KINDS.schedule, memberPlace(stack, "0".repeat(26)));
  const gone = { ...stack, stack: "G".repeat(26) };
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, gone), { configuration: CONFIGURATION });
  });
  const lost = Schedule.create({ id: "G", stackName: "gone", actor: "ann", ...HOURLY });
  await put(SERVER_KINDS.schedule, memberPlace(gone, "B".repeat(26)), lost);
  goTo(DUE_MS);
  expect(await fire()).toBe(1);
  expect(await runs()).toHaveLength(1);
  const place = memberPlace(gone, "B".repeat(26));
  const left = decodeRecord(
    SERVER_KINDS.schedule,
    await storage.read("strong", idOf(SERVER_KINDS.schedule, place)),
  );
  expect(left).toMatchObject({ nextAtMs: BigInt(DUE_MS + HOUR_MS) });
  expect(left.lastProblem).toContain('there is no Stack "gone"');
});

const never: Disposable = { [Symbol.dispose]: () => undefined };
