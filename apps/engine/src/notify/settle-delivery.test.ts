import {
  type NotificationDelivery,
  NotificationDelivery_State,
  NotificationDestination,
  NotificationSettings,
} from "@stackwright/proto/stackwright";
import { createLeases } from "@stackwright/storage/lease";
import { expect, it } from "vitest";
import { notificationSettingsPlace } from "../domain/notification-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { noteEvent } from "../queue/note-event.ts";
import { lockStack } from "../queue/stack-lock.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { noteHeldLocks } from "./note-held-locks.ts";
import { settleAttempt, settleUnsent } from "./settle-delivery.ts";

const PROJECT = { account: "acme", project: "web" };
const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

async function start(destinations: readonly string[] = ["d"]) {
  const fixture = createRunFixture();
  const { parts, put, storage, clock, tenancy } = fixture;
  const stack = await fixture.stack("one");
  const events = ["run.failed", "stack.locked_long"];
  const settings = NotificationSettings.create({
    destinations: destinations.map((id) => NotificationDestination.create({ id, events })),
  });
  await put(SERVER_KINDS.notificationSettings, notificationSettingsPlace(PROJECT), settings);
  const leases = createLeases({ storage, owner: "a", clock });
  const served = async (id: string) => {
    const lease = await leases.tryAcquire({ tenancy, name: `notify-${id}` });
    if (lease === undefined) throw new Error("another server has the lease");
    const release = async () => lease[Symbol.asyncDispose]();
    const { guard, signal } = lease;
    return { project: PROJECT, destination: { id }, guard, signal, release };
  };
  const note = async (event: "run.failed" | "run.applied" = "run.failed") =>
    transact(parts, async (tx) => noteEvent(tx, { event, stack }));
  const waiting = async () => {
    const { notificationEvent: kind } = SERVER_KINDS;
    const found = await storage.list("strong", kind.type, tenancy, "");
    return found.map((one) => decodeRecord(kind, one)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  };
  const ended = async (): Promise<readonly NotificationDelivery[]> => {
    const { notificationDelivery: kind } = SERVER_KINDS;
    const found = await storage.list("strong", kind.type, tenancy, "");
    return found.map((one) => decodeRecord(kind, one));
  };
  return { ...fixture, stack, served, note, waiting, ended };
}

it("nothing is noted for events that no destination wants", async () => {
  const { note, waiting } = await start();
  await note("run.applied");
  expect(await waiting()).toEqual([]);
});

it("an event is given up after ten attempts with growing pauses", async () => {
  const { parts, note, waiting, ended, served, clock } = await start();
  await note();
  const at = await served("d");
  const problem = { status: 503, isDelivered: false, problem: "it answered 503" };
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 9; attempt += 1) {
    const [event] = await waiting();
    expect(await settleAttempt(parts, at, event?.id ?? "", problem)).toBe(true);
    const [{ waits } = { waits: [] }] = await waiting();
    pauses.push(Number(waits[0]?.nextAtMs) - clock.wallMs());
    expect(waits[0]).toMatchObject({ attempts: attempt, problem: "it answered 503" });
  }
  expect(pauses).toEqual(
    [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800].map((seconds) => seconds * 1_000),
  );
  const [last] = await waiting();
  expect(await settleAttempt(parts, at, last?.id ?? "", problem)).toBe(false);
  expect(await waiting()).toEqual([]);
  expect(await ended()).toMatchObject([
    {
      state: NotificationDelivery_State.STATE_DEAD,
      attempts: 10,
      status: 503,
      event: last && { id: last.id },
    },
  ]);
});

it("an event is given up after a day", async () => {
  const { parts, note, waiting, ended, served, clock } = await start();
  await note();
  await clock.advance(24 * HOUR_MS);
  const [old] = await waiting();
  const failed = { status: 0, isDelivered: false, problem: "it cannot be reached" };
  expect(await settleAttempt(parts, await served("d"), old?.id ?? "", failed)).toBe(false);
  expect(await ended()).toMatchObject([
    { state: NotificationDelivery_State.STATE_DEAD, attempts: 1 },
  ]);
});

it("an event stays until each of its destinations has it; a server without the lease settles nothing", async () => {
  const { parts, note, waiting, ended, served, storage, clock, tenancy } = await start(["d", "e"]);
  await note();
  const [d, e] = [await served("d"), await served("e")];
  const [{ id } = { id: "" }] = await waiting();
  const ok = { status: 200, isDelivered: true, problem: "" };
  expect(await settleAttempt(parts, d, id, ok)).toBe(false);
  expect((await waiting())[0]?.waits).toMatchObject([{ destination: "e" }]);
  // Another server has the lease by now.
  await e.release();
  const other = createLeases({ storage, owner: "b", clock });
  expect(await other.tryAcquire({ tenancy, name: "notify-e" })).toBeDefined();
  const refused = expect(settleAttempt(parts, e, id, ok)).rejects.toThrow("guard");
  for (let attempt = 0; attempt < 50; attempt += 1) await clock.advance(200);
  await refused;
  expect(await waiting()).toHaveLength(1);
  expect(await ended()).toMatchObject([{ state: NotificationDelivery_State.STATE_DELIVERED }]);
});

it("what is too much is dropped in batches, and shown", async () => {
  const { parts, note, waiting, ended, served } = await start();
  for (let at = 0; at < 30; at += 1) await note();
  const ids = (await waiting()).map((event) => event.id);
  await settleUnsent(parts, await served("d"), ids.slice(0, 25), { isShown: true });
  expect((await waiting()).map(({ id }) => id)).toEqual(ids.slice(25));
  const states = (await ended()).map(({ state }) => state);
  expect(states).toEqual(states.map(() => NotificationDelivery_State.STATE_DROPPED));
  expect(states).toHaveLength(25);
});

it("a lock that is held for long is noted once", async () => {
  const { parts, stack, clock, waiting } = await start();
  const logger = { info() {}, warn() {}, error() {}, debug() {} };
  const look = async () => noteHeldLocks({ ...parts, logger }, never);
  await lockStack(parts, stack, { actor: "ann", reason: "canary" });
  await clock.advance(4 * HOUR_MS - 1);
  await look();
  expect(await waiting()).toEqual([]);
  await clock.advance(1);
  await look();
  await look();
  const noted = await waiting();
  expect(noted).toMatchObject([{ event: "stack.locked_long", actor: "ann", stack: stack.stack }]);
  expect(JSON.stringify(noted, (_name, value: unknown) => String(value))).not.toContain("canary");
  // Locked again, it is a new lock; one that ended by itself is none.
  await lockStack(parts, stack, { actor: "ann", reason: "again", forMs: HOUR_MS });
  await clock.advance(5 * HOUR_MS);
  await look();
  expect(await waiting()).toHaveLength(1);
});
