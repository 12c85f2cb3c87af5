import { randomBytes } from "node:crypto";
import { silentLogger } from "@stackwright/base/logger";
import { createStoredKeys, keyEncryptionKey } from "@stackwright/core";
import {
  NotificationDestination,
  NotificationSettings,
  Run_Mode,
} from "@stackwright/proto/stackwright";
import { Registry } from "prom-client";
import { expect, it, onTestFinished } from "vitest";
import { examine } from "../doctor/examine.ts";
import { notificationSettingsPlace } from "../domain/notification-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LiveView } from "../live/live-view.ts";
import { RunMetrics } from "../metrics/run-metrics.ts";
import { appendEvents } from "../queue/append-events.ts";
import { claimTicket } from "../queue/claim.ts";
import { beginPlanning } from "../queue/plan-steps.ts";
import { releaseClaim } from "../queue/release.ts";
import { lockStack, unlockStack } from "../queue/stack-lock.ts";
import { listTickets } from "../queue/sweep.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";
import { noteStuckSteps } from "./note-stuck-steps.ts";
import { NotificationWorker } from "./notification-worker.ts";

const MINUTE_MS = 60_000;
const BOUNDS = { unclaimedMs: 5 * MINUTE_MS, silentMs: 30 * MINUTE_MS };
const never = new AbortController().signal;

async function start() {
  const fixture = createRunFixture();
  const { parts, clock, storage, tenancy } = fixture;
  const stack = await fixture.stack("one");
  const project = { account: "acme", project: "web" };
  const destination = NotificationDestination.create({ id: "d", events: ["run.stuck"] });
  const settings = NotificationSettings.create({ destinations: [destination] });
  await fixture.put(
    SERVER_KINDS.notificationSettings,
    notificationSettingsPlace(project),
    settings,
  );
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY);
  /** Any number of servers do so. */
  const look = async () => {
    for (let server = 0; server < 3; server += 1) {
      await noteStuckSteps({ ...parts, logger: silentLogger }, BOUNDS, never);
    }
  };
  const noted = async () => {
    const { notificationEvent: kind } = SERVER_KINDS;
    const found = await storage.list("strong", kind.type, tenancy, "");
    return found.map((one) => decodeRecord(kind, one)).map(({ reasonCode }) => reasonCode);
  };
  const measured = async () => {
    const registry = new Registry();
    new RunMetrics(registry, clock).readQueueBy(async () => listTickets(parts));
    const [stuck] = await registry
      .getMetricsAsJSON()
      .then((all) => all.filter(({ name }) => name === "stackwright_runs_stuck"));
    const values = (stuck?.values ?? []) as { labels: { why: string }; value: number }[];
    return Object.fromEntries(values.map(({ labels, value }) => [labels.why, value]));
  };
  const found = async () => {
    const given = { ...parts, account: "acme", credentials: { list: async () => [] } };
    const all = await examine({ ...given, stuck: BOUNDS, signal: never });
    return all.map(({ code }) => code);
  };
  const claim = async () => {
    const worker = await fixture.worker("w");
    const [ticket] = await listTickets(parts);
    const claimed = ticket && (await claimTicket(parts, ticket.id, worker, "digest"));
    if (claimed === undefined) throw new Error("nothing to claim");
    return claimed;
  };
  return { ...fixture, clock, stack, run, look, noted, measured, found, claim };
}

it("a step that no worker takes is noted once by all servers, and no longer when one has it", async () => {
  const { clock, look, noted, measured, found, claim, parts } = await start();
  await look();
  clock.skip(BOUNDS.unclaimedMs - 1);
  await look();
  expect([await noted(), await measured(), await found()]).toEqual([
    [],
    { unclaimed: 0, silent: 0 },
    [],
  ]);
  clock.skip(1);
  await look();
  await look();
  expect([await noted(), await measured(), await found()]).toEqual([
    ["step_unclaimed"],
    { unclaimed: 1, silent: 0 },
    ["step_unclaimed"],
  ]);
  const { ticket, worker } = await claim();
  expect(await measured()).toEqual({ unclaimed: 0, silent: 0 });
  // A worker that dies: the time begins anew with the release.
  const { guard } = worker;
  const dead = { ticket, worker: worker.id, guard, actor: "sweep", reason: "the worker was lost" };
  expect(await releaseClaim(parts, dead)).toBe(true);
  await look();
  expect(await noted()).toHaveLength(1);
  clock.skip(BOUNDS.unclaimedMs);
  await look();
  expect(await noted()).toEqual(["step_unclaimed", "step_unclaimed"]);
});

it("a step of which nothing is heard is noted, until it is heard of again", async () => {
  const { clock, look, noted, measured, claim, parts, run } = await start();
  const claimed = await claim();
  await beginPlanning(parts, claimed);
  const say = async (type = "log") =>
    transact(parts, async (tx) =>
      appendEvents(tx, run, [{ at: tx.nowMs, event: { type, text: "..." } }]),
    );
  clock.skip(BOUNDS.silentMs - 1);
  await say();
  clock.skip(BOUNDS.silentMs - 1);
  // That a call still takes time is nothing that its provider says.
  await say("step-progress");
  await look();
  expect(await noted()).toEqual([]);
  clock.skip(1);
  await look();
  await look();
  expect([await noted(), await measured()]).toEqual([["step_silent"], { unclaimed: 0, silent: 1 }]);
  await say();
  await look();
  expect([await noted(), await measured()]).toEqual([["step_silent"], { unclaimed: 0, silent: 0 }]);
});

it("the status of a stack says why its run is stuck, as long as it is", async () => {
  const { clock, look, claim, storage } = await start();
  using live = new LiveView({ storage, logger: silentLogger });
  await live.stackChanges.whenSynced();
  const stuck = () => live.stackChanges.snapshot().objects.map(({ current }) => current?.stuck);
  expect(stuck()).toEqual([undefined]);
  clock.skip(BOUNDS.unclaimedMs);
  await look();
  await expect.poll(stuck).toEqual(["unclaimed"]);
  await claim();
  await expect.poll(stuck).toEqual([undefined]);
  clock.skip(BOUNDS.silentMs);
  await look();
  await expect.poll(stuck).toEqual(["silent"]);
});

it("a step that waits for a lock is not stuck", async () => {
  const { clock, look, noted, measured, found, parts, stack } = await start();
  await lockStack(parts, stack, { actor: "ann", reason: "maintenance" });
  clock.skip(BOUNDS.unclaimedMs);
  await look();
  expect([await noted(), await measured()]).toEqual([[], { unclaimed: 0, silent: 0 }]);
  // Workers have time to take it when the lock is gone, as they take others that waited for it.
  clock.skip(BOUNDS.unclaimedMs);
  await look();
  await unlockStack(parts, stack, { actor: "ann", force: false });
  await look();
  clock.skip(BOUNDS.unclaimedMs - 1);
  await look();
  expect([await noted(), await found()]).toEqual([[], []]);
  clock.skip(1);
  await look();
  expect([await noted(), await found()]).toEqual([["step_unclaimed"], ["step_unclaimed"]]);
});

it("a server whose clock is wrong notes nothing that lasts too long, and does so once it is right", async () => {
  const { clock, noted, parts } = await start();
  let mayReact = false;
  const serverClock = { standing: async () => ({ skewMs: 0, isDisputed: false, mayReact }) };
  const sending = new NotificationWorker({
    ...parts,
    keys: createStoredKeys({ storage: parts.storage, current: keyEncryptionKey(randomBytes(32)) }),
    logger: silentLogger,
    hosts: new OutgoingHosts([]),
    origin: () => "https://stackwright.example.com",
    stuck: BOUNDS,
    serverClock,
  });
  onTestFinished(async () => {
    const closed = sending[Symbol.asyncDispose]();
    await clock.advance(1_000);
    await closed;
  });
  await clock.advance(BOUNDS.unclaimedMs + MINUTE_MS);
  expect(await noted()).toEqual([]);
  mayReact = true;
  await clock.advance(MINUTE_MS);
  expect(await noted()).toEqual(["step_unclaimed"]);
});
