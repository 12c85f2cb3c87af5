import { Run_Mode } from "@stackwright/proto/stackwright";
import { StorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "../queue/append-events.ts";
import { claimTicket, requireClaim } from "../queue/claim.ts";
import { releaseClaim } from "../queue/release.ts";
import { listTickets } from "../queue/sweep.ts";
import { transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LogWriter } from "./log-writer.ts";

async function start() {
  let refusals = 0;
  const storage = overBatches(createMemoryStorage(), async (_, write) => {
    if (refusals === 0) return write();
    refusals -= 1;
    throw new StorageError("STORAGE_INCONSISTENT", undefined, {
      details: { outcome: "not-applied" },
    });
  });
  const fixture = createRunFixture(storage);
  const { parts, clock } = fixture;
  const reference = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  const [ticket] = await listTickets(parts);
  const worker = await fixture.worker("w");
  const claim = ticket && (await claimTicket(parts, ticket.id, worker, "token"));
  if (claim === undefined) throw new Error("nothing to claim");
  const lost = new AbortController();
  const log = new LogWriter({
    run: reference.run,
    lost: lost.signal,
    clock,
    append: async (events) =>
      transact(parts, async (tx) => {
        await requireClaim(tx, claim);
        await appendEvents(tx, reference, events);
      }),
  });
  const stored = async () => {
    const { tenancy, name } = runPlace(reference);
    const { type } = SERVER_KINDS.segment;
    const segments = await storage.list("strong", type, tenancy, `${name}.`);
    return segments
      .flatMap((one) => decodeRecord(SERVER_KINDS.segment, one).events)
      .map((line) => JSON.parse(line) as { readonly type: string; readonly address?: string });
  };
  return {
    log,
    stored,
    claim,
    lost,
    parts,
    refuse: (times: number) => {
      refusals = times;
    },
    /** Lets time pass until something is done; false where it takes more than a minute. */
    within: async (done: Promise<unknown>) => {
      const over = done.then(() => "over");
      for (let passed = 0; passed < 60_000; passed += 100) {
        if ((await Promise.race([over, clock.advance(100)])) === "over") return true;
      }
      return false;
    },
    addresses: async () =>
      (await stored()).flatMap(({ type, address = "" }) => (type === "step-end" ? [address] : [])),
    /** Types of output that is stored, and of what stands for it. */
    lines: async () =>
      (await stored()).flatMap(({ type }) => (type === "log" || type === "gap" ? [type] : [])),
  };
}

it("loses no event while the store is away", async () => {
  const { log, refuse, within, addresses } = await start();
  refuse(100);
  const expected = Array.from({ length: 500 }, (_, index) => `a.b${index}`);
  for (const address of expected) void log.add({ type: "step-end", address }, 1);
  expect(await within(log.flush())).toBe(true);
  expect(await addresses()).toEqual(expected);
});

it("gives up with the claim, and with the lease", async () => {
  const { log, claim, parts, within, addresses } = await start();
  const { ticket, worker } = claim;
  await releaseClaim(parts, { ticket, worker: "w", guard: worker.guard, actor: "w", reason: "" });
  void log.add({ type: "step-end", address: "a" }, 1);
  expect(await within(log.flush())).toBe(true);
  expect(await addresses()).toEqual([]);
  const other = await start();
  other.refuse(1_000_000);
  void other.log.add({ type: "step-end", address: "a" }, 1);
  const flushed = other.log.flush();
  other.lost.abort(new Error("lost"));
  expect(await other.within(flushed)).toBe(true);
});

it("stores of an event that is too long what explains it", async () => {
  const { log, stored } = await start();
  const problem = { type: "diagnostic", severity: "error", summary: "The provider refused it" };
  void log.add({ ...problem, detail: "x".repeat(100_000) }, 1);
  await log.flush();
  expect(await stored()).toContainEqual(expect.objectContaining(problem));
});

it("lets a fast executor wait for a slow store", async () => {
  const { log, refuse, within } = await start();
  refuse(20);
  const text = "x".repeat(40 * 1024);
  let waits: Promise<void> | undefined;
  for (let count = 0; count < 200; count += 1) waits = log.add({ type: "step-end", text }, 1);
  expect(waits).toBeInstanceOf(Promise);
  expect(await within(waits ?? Promise.resolve())).toBe(true);
});

it("lets output wait for a store that works, and none for one that is away", async () => {
  const { log, refuse, within, lines } = await start();
  const text = "x".repeat(40 * 1024);
  const add = (count: number): (Promise<void> | undefined)[] =>
    Array.from({ length: count }, () => log.add({ type: "log", text }, 1));
  const waits = add(60).filter((wait) => wait !== undefined);
  expect(waits).not.toEqual([]);
  expect(await within(Promise.all(waits))).toBe(true);
  expect(await within(log.flush())).toBe(true);
  expect(await lines()).toEqual(Array.from({ length: 60 }, () => "log"));
  refuse(1_000_000);
  const [waiting] = add(60).filter((wait) => wait !== undefined);
  // The first attempt to write shows that it is away: what waits is let in, and nothing waits any more.
  expect(await within(waiting ?? Promise.resolve())).toBe(true);
  expect(add(60).filter((wait) => wait !== undefined)).toEqual([]);
  refuse(0);
  expect(await within(log.flush())).toBe(true);
  expect((await lines()).slice(60)).toContain("gap");
});
