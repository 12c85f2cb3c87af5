import { Run_Mode } from "@stackwright/proto/stackwright";
import { StorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { type RunReference, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { appendEvents } from "./append-events.ts";
import { claimTicket } from "./claim.ts";
import { listTickets } from "./sweep.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/** A store whose next batch is answered with an error, and done a moment later: in so many pauses. */
async function start(pauses = 1) {
  let left = pauses;
  let isLate = false;
  let late: (() => Promise<unknown>) | undefined;
  const storage = overBatches(createMemoryStorage(), async (_, write) => {
    if (!isLate) return write();
    isLate = false;
    late = write;
    throw new StorageError("STORAGE_INCONSISTENT", undefined, { details: { outcome: "unknown" } });
  });
  const fixture = createRunFixture(storage);
  const clock = {
    ...fixture.clock,
    after: (_: number, task: () => void) => {
      left -= 1;
      const landing = (left <= 0 ? late?.() : undefined) ?? Promise.resolve();
      if (left <= 0) late = undefined;
      void landing.then(task);
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const parts = { ...fixture.parts, clock };
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  const delayNext = (): void => {
    isLate = true;
  };
  return { fixture, storage, parts, run, delayNext };
}

it("a claim that lands after its answer was lost is known to its worker", async () => {
  const { fixture, parts, delayNext } = await start();
  const worker = await fixture.worker("w");
  const [ticket] = await listTickets(parts);
  if (ticket === undefined) throw new Error("no ticket");
  delayNext();
  const claim = await claimTicket(parts, ticket.id, worker, "token");
  expect(claim).toMatchObject({ step: "plan", tokenDigest: "token" });
});

it("events whose batch lands late are stored once", async () => {
  const { storage, parts, run, delayNext } = await start();
  delayNext();
  await transact(parts, async (tx) =>
    appendEvents(tx, run, [{ at: 1, event: { type: "step-end", address: "a" } }]),
  );
  const { tenancy, name } = runPlace(run);
  const segments = await storage.list("strong", SERVER_KINDS.segment.type, tenancy, `${name}.`);
  const lines = segments.flatMap((one) => decodeRecord(SERVER_KINDS.segment, one).events);
  expect(lines.filter((line) => line.includes("step-end"))).toHaveLength(1);
});

/** Appends an event to the log of a run by the first attempt; each further one refuses, as its time is over. */
function appendInTime(parts: TransactionParts, run: RunReference): Promise<void> {
  let isInTime = true;
  return transact(parts, async (tx) => {
    if (!isInTime) throw new ServerError("approval_expired");
    isInTime = false;
    await appendEvents(tx, run, [{ at: 1, event: { type: "step-end", address: "a" } }]);
  });
}

it("what lands after a further attempt came too late is no refusal", async () => {
  const { parts, run, delayNext } = await start(3);
  delayNext();
  await expect(appendInTime(parts, run)).resolves.toBeUndefined();
});

it("what lands after a further attempt found nothing to do is what was done", async () => {
  const { parts, run, delayNext } = await start(3);
  delayNext();
  let isInTime = true;
  const done = await transact(parts, async (tx) => {
    if (!isInTime) return false;
    isInTime = false;
    await appendEvents(tx, run, [{ at: 1, event: { type: "step-end", address: "a" } }]);
    return true;
  });
  expect(done).toBe(true);
});

it("what may still land after all attempts is not known", async () => {
  const { parts, run, delayNext } = await start(1_000);
  delayNext();
  await expect(appendInTime(parts, run)).rejects.toMatchObject({ code: "STORAGE_INCONSISTENT" });
});

it("a refusal is the answer where another writer was faster than what was lost", async () => {
  const { fixture, parts, run, delayNext } = await start(1_000);
  delayNext();
  const clock = {
    ...parts.clock,
    after: (ms: number, task: () => void) => {
      const event = { type: "step-end", address: "b" };
      const written = transact(fixture.parts, async (tx) =>
        appendEvents(tx, run, [{ at: 1, event }]),
      );
      void written.then(() => parts.clock.after(ms, task));
      return { [Symbol.dispose]: () => undefined };
    },
  };
  await expect(appendInTime({ ...parts, clock }, run)).rejects.toMatchObject({
    code: "approval_expired",
  });
});
