import { silentLogger } from "@stackwright/base/logger";
import { IdempotencyRecord, Run_Mode } from "@stackwright/proto/stackwright";
import { tenancyOf, WILDCARD } from "@stackwright/storage";
import { createLeases, FENCE_TYPE, HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { expect, it, onTestFinished } from "vitest";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LogBell } from "../logs/log-bell.ts";
import { streamRunLog } from "../logs/stream-run-log.ts";
import { cancelRun } from "../queue/cancel.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { expireIdempotency } from "./expire-idempotency.ts";
import { expireRuns } from "./expire-runs.ts";
import { removeEndedTenures } from "./remove-ended-tenures.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const DAY_MS = 24 * 3_600_000;
const { signal } = new AbortController();

async function start() {
  const fixture = createRunFixture();
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
  expect(await expireRuns(storage, { perStack: 3 }, clock.wallMs(), signal)).toBe(2);
  expect(await counts()).toEqual([5, 5, 9]);
  expect(await expireRuns(storage, { perStack: 3 }, clock.wallMs(), signal)).toBe(0);
  const later = clock.wallMs() + 500 * DAY_MS;
  expect(await expireRuns(storage, {}, later, signal)).toBe(3);
  expect(await counts()).toEqual([2, 2, 1]);
});

it("a reader of events that are gone learns which, and that nothing follows", async () => {
  const { storage, clock, ended, counts } = await start();
  const run = await ended();
  await expireRuns(storage, {}, clock.wallMs() + 100 * DAY_MS, signal);
  expect(await counts()).toEqual([1, 1, 0]);
  const bell = new LogBell({ storage, clock, logger: silentLogger });
  onTestFinished(() => bell[Symbol.asyncDispose]());
  const lines: string[] = [];
  for await (const line of (await streamRunLog(
    { storage, clock, bell },
    run,
    { after: 0 },
    signal,
  )) ?? []) {
    lines.push(line);
  }
  expect(lines.join("")).toContain('event: gap\ndata: {"type":"gap","from":1,"to":3}');
  expect(lines.at(-1)).toContain(`id: ${run.run}:3\nevent: end\n`);
  expect(await streamRunLog({ storage, clock, bell }, run, { after: 3 }, signal)).toBeUndefined();
});

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
    await put(SERVER_KINDS.serverKeys, { tenancy, name }, { keyIds: ["key-1"] });
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
