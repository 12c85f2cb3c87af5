import { silentLogger } from "@stackwright/base/logger";
import { createManualClock } from "@stackwright/base/testing";
import { DriftRule, Project, Run_Mode, Schedule } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { Bell } from "../bell.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord, typeUrlOf } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { beginTenure, type WorkerParts } from "./begin-tenure.ts";
import { AWAY_MS, BEAT_MS, PeerClocks } from "./peer-clocks.ts";

const HOUR_MS = 3_600_000;
const NO_TICKETS = {
  list: async () => Promise.resolve([]),
  listStored: async () => Promise.resolve([]),
  rung: async (signal: AbortSignal) => new Bell().rung(signal),
};
const SITE = tenancyOf({ kind: "site" });

/** Servers of one store, whose wall clocks are ahead by so much, and whose monotonic clocks began at different times. */
async function start(...aheadMs: readonly number[]) {
  const clock = createManualClock();
  const store: { stall?: (() => Promise<void>) | undefined } = {};
  const storage = overBatches(createMemoryStorage(), async (_, write) => {
    const { stall } = store;
    store.stall = undefined;
    await stall?.();
    return write();
  });
  const fixture = createRunFixture(storage, clock);
  const join = async (id: string, ahead = 0, startedMs = 0) => {
    const wall = { aheadMs: ahead };
    const own = {
      ...clock,
      wallMs: () => clock.wallMs() + wall.aheadMs,
      monotonicMs: () => clock.monotonicMs() + startedMs,
    };
    const { guard } = await fixture.worker(id);
    const empty = { keyIds: [], release: "", clock: undefined };
    await fixture.put(SERVER_KINDS.serverKeys, { tenancy: SITE, name: id }, empty);
    const warned: unknown[] = [];
    const logger = { ...silentLogger, warn: (what: unknown) => void warned.push(what) };
    const clocks = new PeerClocks({ ...fixture.parts, clock: own, logger });
    return { clocks, wall, warned, compare: async () => clocks.compare({ id, guard }) };
  };
  const servers = await Promise.all(
    aheadMs.map(async (ahead, index) => join(`s${index}`, ahead, index * 1_000_000)),
  );
  /** Stores a record of a server that cannot be decoded. */
  const damage = async (name: string) => {
    const { type } = SERVER_KINDS.serverKeys;
    const data = { typeUrl: typeUrlOf(type), value: Uint8Array.of(255, 255, 255) };
    const id = { uid: name, name, type, tenancy: SITE };
    const body = { version: "", generation: "", metadata: {}, status: {}, data };
    await storage.writeCAS({ id, ...body });
  };
  const rounds = async (count: number, who = servers): Promise<void> => {
    for (let round = 0; round < count; round += 1) {
      for (const one of who) {
        await one.compare();
        clock.skip(BEAT_MS / who.length);
      }
    }
  };
  const standings = async () => Promise.all(servers.map(async ({ clocks }) => clocks.standing()));
  return { servers, clock, store, rounds, standings, join, damage };
}

describe("the clocks of servers", () => {
  it("that agree let all of them react", async () => {
    const { rounds, standings } = await start(0, 3_000, -3_000);
    await rounds(4);
    for (const { skewMs = 0, ...standing } of await standings()) {
      expect(Math.abs(skewMs)).toBeLessThanOrEqual(3_000);
      expect(standing).toEqual({ isDisputed: false, mayReact: true });
    }
  });

  it.each([2 * HOUR_MS, -2 * HOUR_MS])(
    "are right of two that agree, and wrong of the third that is %i ms ahead",
    async (ahead) => {
      const { rounds, standings, servers } = await start(0, 0, ahead);
      await rounds(4);
      const right = { skewMs: 0, isDisputed: false, mayReact: true };
      const [one, two, three] = await standings();
      expect([one, two]).toEqual([right, right]);
      expect(three).toMatchObject({ isDisputed: false, mayReact: false });
      // Known to the pause between two reads.
      expect(Math.abs((three?.skewMs ?? 0) - ahead)).toBeLessThanOrEqual(2 * BEAT_MS);
      expect(servers.map(({ warned }) => warned.length)).toEqual([0, 0, 1]);
    },
  );

  it("of two that differ lets the one that is behind react alone, and both say so", async () => {
    const { rounds, standings } = await start(0, 2 * HOUR_MS);
    await rounds(4);
    expect(await standings()).toMatchObject([
      { isDisputed: true, mayReact: true },
      { isDisputed: true, mayReact: false },
    ]);
  });

  it("are known within what a write took, however slow it was", async () => {
    const { rounds, standings, servers, store } = await start(0, 0);
    await rounds(4);
    const [first, second] = servers;
    if (first === undefined || second === undefined) throw new Error("there is no server");
    // What the clock said is two minutes old when it is stored.
    store.stall = async () => rounds(12, [first]);
    await second.compare();
    await rounds(2);
    expect((await standings()).map(({ skewMs }) => skewMs)).toEqual([0, 0]);
  });

  it("of a server that jumps are wrong at once there, and right again when it jumps back", async () => {
    const { rounds, standings, servers } = await start(0, 0, 0);
    await rounds(4);
    const wall = servers[2]?.wall ?? { aheadMs: 0 };
    wall.aheadMs = HOUR_MS;
    expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([true, true, false]);
    wall.aheadMs = 0;
    expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([true, true, true]);
  });

  it("say nothing before they were compared, and while another server is not measured", async () => {
    const { rounds, servers } = await start(2 * HOUR_MS, 0, 0);
    const [first, ...others] = servers;
    if (first === undefined) throw new Error("there is no server");
    const isReacting = async () => (await first.clocks.standing()).mayReact;
    expect(await isReacting()).toBe(false);
    await rounds(3, others);
    await rounds(1, [first]);
    expect(await isReacting()).toBe(false);
    await rounds(1);
    expect(await isReacting()).toBe(false);
  });

  it("of servers that have ended do not count", async () => {
    const { rounds, servers } = await start(0, 2 * HOUR_MS, 2 * HOUR_MS);
    const [first] = servers;
    if (first === undefined) throw new Error("there is no server");
    await rounds(4);
    expect(await first.clocks.standing()).toMatchObject({ mayReact: false });
    await rounds(AWAY_MS / BEAT_MS + 1, [first]);
    expect(await first.clocks.standing()).toEqual({
      skewMs: undefined,
      isDisputed: false,
      mayReact: true,
    });
  });

  it("of servers that restart again and again stop nothing", async () => {
    const { rounds, standings, join } = await start(0, 0, 0);
    await rounds(AWAY_MS / BEAT_MS + 1);
    for (let count = 0; count < 4; count += 1) {
      await (await join(`new${count}`)).compare();
      await rounds(2);
      expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([true, true, true]);
    }
  });

  it("say nothing after a while without reads, and are known again after the next ones", async () => {
    const { rounds, standings, clock } = await start(0, 0, 2 * HOUR_MS);
    await rounds(4);
    clock.skip(AWAY_MS);
    expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([false, false, false]);
    await rounds(4);
    expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([true, true, false]);
  });

  it("are not measured over a pause of the reads, which would hide what they differ by", async () => {
    const { rounds, standings, clock, servers } = await start(0, 0, 300_000);
    await rounds(4);
    clock.skip(600_000);
    const last = servers[2];
    for (let round = 0; round < 4; round += 1) {
      await rounds(1);
      expect((await last?.clocks.standing())?.mayReact).toBe(false);
    }
    expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([true, true, false]);
  });

  it("of a server that never could be measured keep one from taking itself for alone", async () => {
    const { rounds, servers, clock } = await start(2 * HOUR_MS, 0);
    const [first, second] = servers;
    if (first === undefined || second === undefined) throw new Error("there is no server");
    for (let round = 0; round < 10; round += 1) {
      // Two beats between two reads: none that is the next one of another.
      await second.compare();
      await second.compare();
      clock.skip(BEAT_MS);
      await first.compare();
      expect(await first.clocks.standing()).toMatchObject({ mayReact: false });
    }
    await rounds(3);
    expect(await first.clocks.standing()).toMatchObject({ isDisputed: true, mayReact: false });
  });

  it("are read also by a server that cannot say what its own says", async () => {
    const { rounds, servers, store } = await start(0, 0, 2 * HOUR_MS);
    await rounds(4);
    const last = servers[2];
    store.stall = async () => Promise.reject(new Error("the store takes no writes"));
    await expect(last?.compare()).rejects.toThrow("takes no writes");
    await rounds(AWAY_MS / BEAT_MS, servers.slice(0, 2));
    store.stall = async () => Promise.reject(new Error("the store takes no writes"));
    await expect(last?.compare()).rejects.toThrow("takes no writes");
    expect(await last?.clocks.standing()).toMatchObject({ mayReact: false, isDisputed: false });
  });

  it("are compared without the record of one that is damaged", async () => {
    const { rounds, standings, damage } = await start(0, 0, 0);
    await damage("damaged");
    await rounds(4);
    expect((await standings()).map(({ mayReact }) => mayReact)).toEqual([true, true, true]);
  });
});

/** Three servers that work on one store without executing anything, the last of them with a wrong clock, and an hourly schedule. */
async function startFleet(aheadMs: number, dueInMs: number) {
  const clock = createManualClock();
  const fixture = createRunFixture(createMemoryStorage(), clock);
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
  });
  const dueMs = Math.ceil((clock.wallMs() + dueInMs) / HOUR_MS) * HOUR_MS;
  clock.skip(dueMs - dueInMs - clock.wallMs());
  const id = "A".repeat(26);
  const place = memberPlace(stack, id);
  const schedule = { id, stackName: "one", mode: Run_Mode.MODE_PLAN_ONLY, actor: "ann" };
  const times = { cron: "0 * * * *", zone: "UTC", nextAtMs: BigInt(dueMs) };
  await fixture.put(SERVER_KINDS.schedule, place, Schedule.create({ ...schedule, ...times }));
  const ending = new AbortController();
  const tenures = await Promise.all(
    [0, 0, aheadMs].map(async (ahead) => {
      const own = { ...clock, wallMs: () => clock.wallMs() + ahead };
      const given = { ...parts, clock: own, logger: silentLogger };
      return beginTenure(
        {
          ...given,
          tickets: NO_TICKETS,
          keys: { keyIds: [] },
          executor: { kind: "in-process", isRemote: false },
          serverClock: new PeerClocks(given),
          capacity: 0,
        } as unknown as WorkerParts,
        ending.signal,
      );
    }),
  );
  onTestFinished(async () => {
    ending.abort(new Error("the test has ended"));
    const closed = Promise.all(tenures.map(async (one) => one.close(0)));
    await clock.advance(1_000);
    await closed;
  });
  return {
    dueMs,
    advance: async (ms: number) => clock.advance(ms),
    runs: async () =>
      (await storage.list("strong", RUN_KIND.type, fixture.tenancy, "")).map((one) =>
        decodeRecord(RUN_KIND, one),
      ),
    schedule: async () =>
      decodeRecord(
        SERVER_KINDS.schedule,
        await storage.read("strong", idOf(SERVER_KINDS.schedule, place)),
      ),
  };
}

it.each([2 * HOUR_MS, -2 * HOUR_MS])(
  "of three servers, one of them %i ms ahead, each time of a schedule is requested once, and none too early",
  async (ahead) => {
    const dueInMs = 180_000;
    const { dueMs, advance, runs, schedule } = await startFleet(ahead, dueInMs);
    await advance(dueInMs - 1_000);
    expect(await runs()).toEqual([]);
    await advance(20_000);
    const made = await runs();
    expect(made).toHaveLength(1);
    const [run] = made;
    expect(Number(run?.createdAtMs)).toBeGreaterThanOrEqual(dueMs);
    expect(Number(run?.createdAtMs)).toBeLessThan(dueMs + 20_000);
    await advance(30_000);
    expect(await runs()).toHaveLength(1);
    expect(await schedule()).toMatchObject({
      lastAtMs: BigInt(dueMs),
      nextAtMs: BigInt(dueMs + HOUR_MS),
    });
  },
);

it("a server whose clock is wrong checks no stack for drift, and does so once it is right", async () => {
  const clock = createManualClock();
  const fixture = createRunFixture(createMemoryStorage(), clock);
  const stack = await fixture.stack("one");
  await transact(fixture.parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
  });
  const project = Project.create({ name: "web", drift: DriftRule.create({ everyMinutes: 5 }) });
  await fixture.put(SERVER_KINDS.project, projectPlace(stack), project);
  let mayReact = false;
  const ending = new AbortController();
  const tenure = await beginTenure(
    {
      ...fixture.parts,
      logger: silentLogger,
      tickets: NO_TICKETS,
      keys: { keyIds: [] },
      executor: { kind: "in-process", isRemote: false },
      serverClock: { standing: async () => ({ skewMs: 0, isDisputed: false, mayReact }) },
      capacity: 0,
    } as unknown as WorkerParts,
    ending.signal,
  );
  onTestFinished(async () => {
    ending.abort(new Error("the test has ended"));
    const closed = tenure.close(0);
    await clock.advance(1_000);
    await closed;
  });
  const runs = async () =>
    (await fixture.storage.list("strong", RUN_KIND.type, fixture.tenancy, "")).length;
  await clock.advance(HOUR_MS / 4);
  expect(await runs()).toBe(0);
  mayReact = true;
  await clock.advance(HOUR_MS / 4);
  expect(await runs()).toBe(1);
});
