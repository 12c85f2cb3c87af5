import { silentLogger } from "@stackwright/base/logger";
import { AccessToken, NotificationEvent, Run_Mode } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { expect, it, onTestFinished } from "vitest";
import { notificationEventPlace } from "../domain/notification-places.ts";
import { recordKind } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LiveView } from "../live/live-view.ts";
import { claimTicket } from "../queue/claim.ts";
import { listTickets } from "../queue/sweep.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { ServerMetrics } from "./server-metrics.ts";

const TOKEN = recordKind("AccessToken", AccessToken);
const EVENT = SERVER_KINDS.notificationEvent;

function start() {
  const fixture = createRunFixture();
  const { storage, clock } = fixture;
  let reads = 0;
  const counted = new Proxy(storage, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      reads += 1;
      return member.bind(target) as unknown;
    },
  });
  const live = new LiveView({ storage: counted, logger: silentLogger, clock });
  const metrics = new ServerMetrics({ engine: "memory", clock });
  onTestFinished(() => {
    metrics[Symbol.dispose]();
    live[Symbol.dispose]();
  });
  metrics.live.readBy(live.counts);
  /** The samples of a metric. */
  const scrape = async (name: string): Promise<readonly string[]> => {
    const text = await metrics.registry.metrics();
    const samples = text.split("\n").filter((line) => /^[a-z_]+(?:\{.*\})? /.test(line));
    return samples.filter((line) => line.startsWith(`stackwright_${name}`)).toSorted();
  };
  return { ...fixture, metrics, scrape, reads: () => reads };
}

it("the runs of a store are counted by phase and mode, and a scrape reads nothing of the store", async () => {
  const { stack, enqueue, scrape, reads } = start();
  const one = await stack("one");
  await enqueue(one, "one", Run_Mode.MODE_APPLY);
  await enqueue(one, "one", Run_Mode.MODE_DESTROY);
  await enqueue(await stack("two"), "two", Run_Mode.MODE_APPLY);
  await expect
    .poll(async () => scrape("runs{"))
    .toEqual([
      'stackwright_runs{phase="queued",mode="apply"} 2',
      'stackwright_runs{phase="queued",mode="destroy"} 1',
    ]);
  const before = reads();
  expect(await scrape("runs{")).toHaveLength(2);
  expect(reads()).toBe(before);
});

it("a run that enters a phase is counted in that phase alone", async () => {
  const { stack, enqueue, scrape, parts, worker } = start();
  await enqueue(await stack("one"), "one", Run_Mode.MODE_APPLY);
  await expect
    .poll(async () => scrape("runs{"))
    .toEqual(['stackwright_runs{phase="queued",mode="apply"} 1']);
  const [ticket] = await listTickets(parts);
  if (ticket === undefined) throw new Error("no ticket");
  await claimTicket(parts, ticket.id, await worker("w1"), "digest");
  await expect
    .poll(async () => scrape("runs{"))
    .toEqual(['stackwright_runs{phase="preparing",mode="apply"} 1']);
});

it("workers are counted by the pool of their token and by what they do, until their leases are over", async () => {
  const { put, stack, enqueue, scrape, parts, worker, clock } = start();
  const place = { tenancy: tenancyOf({ kind: "credentials" }), name: "a digest" };
  const token = { tokenId: "token-gpu", account: "acme", roles: ["worker"], pool: "gpu" };
  await put(TOKEN, place, AccessToken.fromPartial(token));
  const server = await worker("01SERVER");
  const remote = await worker("token-gpu.01REMOTE");
  await worker("token-other.01REMOTE");
  const states = async () => scrape("workers{");
  await expect
    .poll(states)
    .toEqual([
      'stackwright_workers{pool="",state="idle"} 2',
      'stackwright_workers{pool="gpu",state="idle"} 1',
    ]);
  await enqueue(await stack("one"), "one", Run_Mode.MODE_APPLY);
  const [ticket] = await listTickets(parts);
  if (ticket === undefined) throw new Error("no ticket");
  await claimTicket(parts, ticket.id, remote, "digest");
  await expect
    .poll(states)
    .toEqual([
      'stackwright_workers{pool="",state="idle"} 2',
      'stackwright_workers{pool="gpu",state="busy"} 1',
    ]);
  await server.lease.release();
  // As where a process stands still: no lease is renewed.
  clock.skip(20_000);
  await expect
    .poll(states)
    .toEqual([
      'stackwright_workers{pool="",state="silent"} 1',
      'stackwright_workers{pool="gpu",state="silent"} 1',
    ]);
});

it("the outbox is as old as what has waited the longest for its destination", async () => {
  const { put, scrape, storage, clock, tenancy } = start();
  await expect.poll(async () => scrape("outbox")).toEqual(["stackwright_outbox_oldest_seconds 0"]);
  const project = { account: "acme", project: "web" };
  const wait = (ageMs: number) => ({
    destination: "ops",
    sinceMs: BigInt(clock.wallMs() - ageMs),
  });
  const events = { one: [wait(60_000), wait(90_000)], two: [wait(5_000)], none: [] };
  for (const [id, waits] of Object.entries(events)) {
    const event = NotificationEvent.fromPartial({ id, waits });
    await put(EVENT, notificationEventPlace(project, id), event);
  }
  await expect.poll(async () => scrape("outbox")).toEqual(["stackwright_outbox_oldest_seconds 90"]);
  const [first] = (await storage.list("strong", EVENT.type, tenancy, "one")).filter(
    ({ id }) => id.name === "one",
  );
  if (first === undefined) throw new Error("no event");
  await storage.deleteCAS(first.id, first.version);
  await expect.poll(async () => scrape("outbox")).toEqual(["stackwright_outbox_oldest_seconds 5"]);
});

it("nothing is said of a store that was not read yet", async () => {
  const { metrics, scrape } = start();
  const unread = {
    runs: () => undefined,
    workers: () => undefined,
    oldestEventMs: () => undefined,
  };
  metrics.live.readBy(unread);
  const seen = [await scrape("outbox"), await scrape("runs{"), await scrape("workers{")];
  expect(seen).toEqual([[], [], []]);
  metrics.live.readBy({ ...unread, oldestEventMs: () => 0 });
  expect(await scrape("outbox")).toEqual(["stackwright_outbox_oldest_seconds 0"]);
});
