import { silentLogger } from "@stackwright/base/logger";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { DelegatingStorage } from "@stackwright/storage/testing";
import { expect, it } from "vitest";
import { Bell } from "../bell.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ListedTicket } from "../queue/choose-ticket.ts";
import { releaseClaim } from "../queue/release.ts";
import { listTickets } from "../queue/sweep.ts";
import { idOf } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";
import { type ClaimRequest, waitForClaim } from "./wait-for-claim.ts";

const soon = { timeout: 60_000 };
const principal = { actor: "pool", account: "acme", projects: [] };

async function start(storageOf: StorageBackend = createMemoryStorage()) {
  const fixture = createRunFixture(storageOf);
  const { clock, storage } = fixture;
  const bell = new Bell();
  let rounds = 0;
  let requests = 0;
  let behind: readonly ListedTicket[] = [];
  const tickets = {
    list: async () => Promise.resolve(behind),
    listStored: async () => listTickets({ storage, logger: silentLogger }),
    rung: async (signal: AbortSignal) => {
      rounds += 1;
      return bell.rung(signal);
    },
  };
  const parts = {
    ...fixture.parts,
    logger: silentLogger,
    tickets,
  } as unknown as StoredClaimParts & { readonly tickets: typeof tickets };
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_PLAN_ONLY);
  const { id: worker, guard } = await fixture.worker("pool.w");
  const signals = { gone: AbortSignal.any([]), stopping: AbortSignal.any([]) };
  const ask = async (request: Partial<ClaimRequest> = {}, more: Partial<typeof signals> = {}) => {
    const authorizeAgain = () => Promise.resolve();
    const options = { ...signals, ...more, authorizeAgain };
    requests += 1;
    const numbered = { worker, fence: guard.version, request: requests, ...request };
    return waitForClaim(parts, principal, numbered, options);
  };
  const ticket = async () => {
    const found = await readStored(storage, "strong", idOf(SERVER_KINDS.ticket, ticketPlace(run)));
    return found && decodeRecord(SERVER_KINDS.ticket, found);
  };
  const leaveBehind = async (): Promise<void> => {
    behind = await tickets.listStored();
  };
  return { parts, clock, bell, run: run.run, ask, ticket, leaveBehind, rounds: () => rounds };
}

it("a request whose worker has turned to another server leaves what the worker got there", {
  timeout: 90_000,
}, async () => {
  const { clock, bell, run, ask, ticket, rounds } = await start();
  // The answer to this one is lost.
  expect(await ask()).toBeDefined();
  // It just ended there, so that the waiting request does not claim it.
  const waiting = ask({ ended: [{ run, ago_ms: 0 }], wait_seconds: 15 });
  await expect.poll(async () => (await ticket())?.claim, soon).toBeUndefined();
  const elsewhere = await ask();
  expect(elsewhere?.claim.attempts).toBe(1);
  const before = rounds();
  bell.ring();
  await expect.poll(rounds, soon).toBeGreaterThan(before);
  await clock.advance(15_000);
  expect(await waiting).toBeUndefined();
  expect(await ticket()).toMatchObject({
    attempts: 1,
    claim: { tokenDigest: elsewhere?.claim.tokenDigest },
  });
});

it("a request whose worker has gone claims nothing", async () => {
  const { ask, ticket } = await start();
  expect(await ask({ wait_seconds: 15 }, { gone: AbortSignal.abort() })).toBeUndefined();
  expect((await ticket())?.claim).toBeUndefined();
});

it("a claim is not released in place of the one before it", async () => {
  const { parts, ask, ticket } = await start();
  const former = await ask();
  const present = await ask();
  if (former === undefined || present === undefined) throw new Error("no claim");
  const { ticket: id, worker, tokenDigest } = former.claim;
  const late = { ticket: id, worker: worker.id, guard: worker.guard, actor: "w", reason: "late" };
  expect(await releaseClaim(parts, { ...late, tokenDigest })).toBe(false);
  expect((await ticket())?.claim?.tokenDigest).toBe(present.claim.tokenDigest);
});

it("a request that stalls at its beginning leaves what a later one was given", async () => {
  const arrived = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let stalls = true;
  class Stalls extends DelegatingStorage {
    override async list(...given: Parameters<DelegatingStorage["list"]>) {
      if (stalls && given[1].kind === "RunTicket") {
        stalls = false;
        arrived.resolve();
        await goOn.promise;
      }
      return super.list(...given);
    }
  }
  const { ask, ticket } = await start(new Stalls(createMemoryStorage()));
  const stalled = ask();
  await arrived.promise;
  const later = await ask();
  expect(later?.claim.attempts).toBe(0);
  goOn.resolve();
  expect(await stalled).toBeUndefined();
  expect(await ticket()).toMatchObject({
    attempts: 0,
    claim: { tokenDigest: later?.claim.tokenDigest },
  });
});

it("a step that is claimed while its worker goes is free again, and none of its attempts is spent", async () => {
  const gone = new AbortController();
  const storage = overBatches(createMemoryStorage(), async (operations, write) => {
    const claims = operations.some(
      (one) => one.kind === "write" && one.resource.id.type.kind === "Run",
    );
    if (claims && armed) gone.abort();
    return write();
  });
  let armed = false;
  const { ask, ticket } = await start(storage);
  armed = true;
  expect(await ask({}, { gone: gone.signal })).toBeUndefined();
  expect(gone.signal.aborted).toBe(true);
  expect(await ticket()).toMatchObject({ attempts: 0, claim: undefined });
  expect((await ask())?.claim.attempts).toBe(0);
});

it("a request claims a ticket as the store has it, where the board has a former attempt", async () => {
  const { parts, ask, leaveBehind } = await start();
  await leaveBehind();
  const former = await ask();
  if (former === undefined) throw new Error("no claim");
  const { ticket: id, worker, tokenDigest } = former.claim;
  const lost = { ticket: id, worker: worker.id, guard: worker.guard, actor: "w", reason: "lost" };
  expect(await releaseClaim(parts, { ...lost, tokenDigest })).toBe(true);
  expect((await ask())?.claim.attempts).toBe(1);
});
