import { silentLogger } from "@stackwright/base/logger";
import { IdempotencyRecord, Run_Mode } from "@stackwright/proto/stackwright";
import { type StorageBackend, tenancyOf, WILDCARD } from "@stackwright/storage";
import { createLeases, FENCE_TYPE, HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import type { RecordKind } from "../domain/record-kind.ts";
import {
  RUN_KIND,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
  WORKER_LEASE,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LogBell } from "../logs/log-bell.ts";
import { LogReader } from "../logs/log-reader.ts";
import { streamRunLog } from "../logs/stream-run-log.ts";
import { cancelRun } from "../queue/cancel.ts";
import { idOf } from "../queue/transaction.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { expireIdempotency } from "./expire-idempotency.ts";
import { expireNotifications } from "./expire-notifications.ts";
import { expireRuns } from "./expire-runs.ts";
import { expireUpstream } from "./expire-upstream.ts";
import { expireVcs } from "./expire-vcs.ts";
import { removeEndedTenures } from "./remove-ended-tenures.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const DAY_MS = 24 * 3_600_000;
const { signal } = new AbortController();

async function start(backend?: StorageBackend) {
  const fixture = createRunFixture(backend);
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const count = async (kind: string) =>
    (await storage.list("strong", { group: "stackwright", kind }, ANYWHERE, "")).length;
  return {
    ...fixture,
    stack,
    count,
    counts: async () => Promise.all(["Run", "RunLog", "RunLogSegment"].map(count)),
    ended: async () => {
      const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY);
      await cancelRun(parts, run, { actor: "ann" });
      return run;
    },
  };
}

it("removes ended runs with all that belongs to them, and no other", async () => {
  const { storage, clock, ended, enqueue, stack, counts, head } = await start();
  const runs = [];
  for (let count = 0; count < 6; count += 1) runs.push(await ended());
  await enqueue(stack, "one", Run_Mode.MODE_APPLY);
  expect(await counts()).toEqual([7, 7, 13]);
  // Its operations are open: the next plan needs its record.
  await head(stack, runs[0]?.run ?? "");
  expect(await expireRuns(storage, { perStack: 3 }, clock.wallMs(), signal)).toEqual({
    runs: 2,
    logs: 0,
  });
  expect(await counts()).toEqual([5, 5, 9]);
  expect((await expireRuns(storage, { perStack: 3 }, clock.wallMs(), signal)).runs).toBe(0);
  const later = clock.wallMs() + 500 * DAY_MS;
  expect((await expireRuns(storage, {}, later, signal)).runs).toBe(3);
  expect(await counts()).toEqual([2, 2, 1]);
});

it("a reader of events that are gone learns which, and that nothing follows", async () => {
  const { storage, clock, ended, counts } = await start();
  const run = await ended();
  const later = clock.wallMs() + 100 * DAY_MS;
  expect(await expireRuns(storage, {}, later, signal)).toEqual({ runs: 0, logs: 1 });
  expect(await expireRuns(storage, {}, later, signal)).toEqual({ runs: 0, logs: 0 });
  expect(await counts()).toEqual([1, 1, 0]);
  const bell = new LogBell({ storage, clock, logger: silentLogger });
  onTestFinished(() => bell[Symbol.asyncDispose]());
  const lines: string[] = [];
  const parts = { storage, clock, bell, logs: new LogReader({ storage, clock }) };
  for await (const text of (await streamRunLog(parts, run, { after: 0 }, signal)) ?? []) {
    lines.push(Buffer.from(text).toString());
  }
  expect(lines.join("")).toContain('event: gap\ndata: {"type":"gap","from":1,"to":3}');
  expect(lines.at(-1)).toContain(`id: ${run.run}:3\nevent: end\n`);
  expect(await streamRunLog(parts, run, { after: 3 }, signal)).toBeUndefined();
});

it("a damaged run, log or head of a stack keeps no other run", async () => {
  const decayed = new Set<string>();
  const inner = decayedStore(createMemoryStorage(), ({ name }) => decayed.has(name));
  const { storage, clock, ended, damage, counts, stack } = await start(inner);
  const [one, two] = [await ended(), await ended(), await ended()];
  await damage(RUN_KIND, runPlace(one));
  await damage(SERVER_KINDS.log, runPlace(two));
  decayed.add(runPlace(two).name);
  const later = clock.wallMs() + 500 * DAY_MS;
  expect(await expireRuns(storage, {}, later, signal)).toEqual({ runs: 1, logs: 0 });
  decayed.clear();
  expect((await counts())[0]).toBe(2);
  // Whether its operations are recovered is not known.
  await damage(STACK_HEAD_KIND, stackPlace(stack));
  expect((await expireRuns(storage, {}, later, signal)).runs).toBe(0);
});

it.each([
  [SERVER_KINDS.idempotency, expireIdempotency],
  [SERVER_KINDS.vcsDelivery, expireVcs],
  [SERVER_KINDS.vcsPullRequest, expireVcs],
  [SERVER_KINDS.notificationDelivery, expireNotifications],
  [SERVER_KINDS.upstreamVersion, expireUpstream],
] as const)(
  "a damaged record of %#, and one that is written meanwhile, keep no other",
  async (kind, expire) => {
    const tenancy = tenancyOf({ kind: "account", account: "acme" });
    const inner = createMemoryStorage();
    const decayed = decayedStore(inner, ({ name }) => name === "a.decayed");
    const { put, damage } = createRunFixture(decayed);
    const any = kind as RecordKind<unknown>;
    const message = any.codec.decode(new Uint8Array());
    for (const name of ["a.decayed", "b.old", "c.other", "d.written"]) {
      await put(any, { tenancy, name }, message);
    }
    await damage(any, { tenancy, name: "c.other" });
    const written = idOf(any, { tenancy, name: "d.written" });
    const deleteCAS: StorageBackend["deleteCAS"] = async (id, version) => {
      if (id.name === written.name) await inner.writeCAS(await inner.read("strong", written));
      await inner.deleteCAS(id, version);
    };
    const storage = new Proxy(decayed, {
      get: (target, key) => (key === "deleteCAS" ? deleteCAS : Reflect.get(target, key, target)),
    });
    expect(await expire(storage, 500 * DAY_MS, signal)).toBe(1);
    const left = await inner.list("strong", kind.type, tenancy, "");
    expect(left.map(({ id }) => id.name).toSorted()).toEqual(["a.decayed", "c.other", "d.written"]);
  },
);

it("removes answers that are repeated no more", async () => {
  const { storage, clock, put, count } = await start();
  const tenancy = tenancyOf({ kind: "account", account: "acme" });
  for (const [name, ageMs] of [
    ["a.1", 25 * 3_600_000],
    ["a.2", 3_600_000],
  ] as const) {
    const createdAtMs = BigInt(Math.floor(clock.wallMs()) - ageMs);
    const record = IdempotencyRecord.create({ requestDigest: "d", createdAtMs });
    await put(SERVER_KINDS.idempotency, { tenancy, name }, record);
  }
  expect(await expireIdempotency(storage, clock.wallMs(), signal)).toBe(1);
  expect(await count("IdempotencyRecord")).toBe(1);
});

it("removes the leases of workers that ended or died, and none of one that lives", async () => {
  const { storage, clock, worker, count, parts, put } = await start();
  const tenancy = tenancyOf({ kind: "site" });
  const [ended, living] = [await worker("ended"), await worker("living")];
  await ended.lease.release();
  // It died: its lease is not renewed.
  const dead = createLeases({ storage, owner: "dead", clock: createRunFixture().clock });
  await dead.acquire({ tenancy, name: `${WORKER_LEASE}dead` });
  // "former" is of a backup, which has no leases.
  for (const name of ["ended", "living", "dead", "former"]) {
    await put(
      SERVER_KINDS.serverKeys,
      { tenancy, name },
      { keyIds: ["key-1"], release: "", clock: undefined },
    );
  }
  const removing = removeEndedTenures({ ...parts, storage, clock }, signal);
  const outcomes: number[] = [];
  void removing.then((removed) => outcomes.push(removed));
  for (let passed = 0; outcomes.length === 0 && passed < 200_000; passed += 1_000) {
    await clock.advance(1_000);
  }
  expect(outcomes).toEqual([2]);
  expect(living.lease.signal.aborted).toBe(false);
  expect([await count(FENCE_TYPE.kind), await count(HEARTBEAT_TYPE.kind)]).toEqual([1, 1]);
  expect(await count("ServerKeys")).toBe(1);
  await living.lease.release();
});
