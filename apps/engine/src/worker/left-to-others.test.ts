import { createStoredKeys, type KeyEncryptionKey, STORED_RUN_PHASES } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { Run_Mode, RunTicket_Step } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { RUN_KIND, runOfTicket, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { claimTicket } from "../queue/claim.ts";
import { releaseClaim } from "../queue/release.ts";
import { listTickets } from "../queue/sweep.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { isLeftToOthers, KEY_WAIT_MS, vouchForKey } from "./left-to-others.ts";
import { LiveServers } from "./live-servers.ts";
import { type StoredClaimParts, storedClaimHost } from "./stored-claim-host.ts";

function keyOf(byte: number): KeyEncryptionKey {
  return { id: `key-${byte}`, bytes: Buffer.alloc(32, byte) };
}

/** A step of a stack whose data keys are encrypted with the key 1. */
async function start() {
  const fixture = createRunFixture();
  const { storage, parts, clock } = fixture;
  const keysWith = (byte: number) => createStoredKeys({ storage, current: keyOf(byte) });
  const stack = await fixture.stack("one");
  await keysWith(1).ensure(stack);
  await fixture.enqueue(stack, "one", Run_Mode.MODE_PLAN_ONLY);
  const ticket = async () => {
    const [found] = await listTickets(parts);
    if (found === undefined) throw new Error("there is no ticket");
    return found;
  };
  /** Whether a server with a key leaves it, as it looks now. */
  const isLeftBy = async (byte: number, servers = new LiveServers({ storage, clock })) =>
    isLeftToOthers({ ...parts, keys: keysWith(byte) }, servers, await ticket());
  /** A server with a key is busy. */
  const isBusyWith = async (byte: number) =>
    vouchForKey({ ...parts, keys: keysWith(byte) }, await ticket());
  return { ...fixture, ticket, isLeftBy, isBusyWith };
}

const SEVERAL = { areSeveral: async () => Promise.resolve(true) } as unknown as LiveServers;

it("a step whose key is missing is left to another server, and not by who is alone", async () => {
  const { isLeftBy, worker } = await start();
  await worker("A");
  expect(await isLeftBy(2)).toBe(false);
  // Workers elsewhere get keys of a server.
  await worker("token-1.B");
  expect(await isLeftBy(2)).toBe(false);
  const { lease } = await worker("C");
  expect(await isLeftBy(2)).toBe(true);
  expect(await isLeftBy(1)).toBe(false);
  await lease.release();
  expect(await isLeftBy(2)).toBe(false);
});

it("is not left for ever, and its time begins when it is left first, by any server", async () => {
  const { isLeftBy, ticket, clock } = await start();
  // Until now all servers were busy.
  clock.skip(2 * KEY_WAIT_MS);
  expect(await isLeftBy(1, SEVERAL)).toBe(false);
  expect((await ticket()).ticket.leftAtMs).toBe(0n);
  expect(await isLeftBy(2, SEVERAL)).toBe(true);
  expect((await ticket()).ticket.leftAtMs).toBe(BigInt(clock.wallMs()));
  clock.skip(KEY_WAIT_MS - 1);
  // One that has just started.
  expect(await isLeftBy(3, SEVERAL)).toBe(true);
  clock.skip(1);
  expect(await isLeftBy(3, SEVERAL)).toBe(false);
  expect(await isLeftBy(2, SEVERAL)).toBe(false);
});

it("is left anew after a claim that was given back", async () => {
  const { isLeftBy, ticket, clock, parts, worker } = await start();
  expect(await isLeftBy(2, SEVERAL)).toBe(true);
  clock.skip(KEY_WAIT_MS);
  const { id, guard, epoch } = await worker("A");
  const { id: place } = await ticket();
  await claimTicket(parts, place, { id, guard, epoch }, "digest");
  await releaseClaim(parts, { ticket: place, worker: id, guard, actor: id, reason: "it ended" });
  expect(await isLeftBy(2, SEVERAL)).toBe(true);
});

it("a recovery waits once for a server that has the key, and anew after one whose server ended", async () => {
  const { isLeftBy, ticket, clock, parts, worker } = await start();
  const { id: place, ticket: free } = await ticket();
  await transact(parts, async (tx) => {
    const run = await tx.get(RUN_KIND, runPlace(runOfTicket(place.tenancy, free)));
    tx.update(run, { phase: STORED_RUN_PHASES.applying });
    const row = await tx.get(SERVER_KINDS.ticket, place);
    tx.update(row, { step: RunTicket_Step.STEP_RECOVER });
  });
  expect(await isLeftBy(2, SEVERAL)).toBe(true);
  clock.skip(KEY_WAIT_MS);
  const server = await worker("A");
  const claim = async () => {
    const claimed = await claimTicket(parts, place, server, "digest");
    if (claimed === undefined) throw new Error("nothing to claim");
    return claimed;
  };
  const host = storedClaimHost(parts as unknown as StoredClaimParts, await claim());
  await host.giveUp(new EngineError("ENGINE_KEY_UNAVAILABLE", "the key is not here"));
  expect((await ticket()).ticket).toMatchObject({ claim: undefined, attempts: 1 });
  expect(await isLeftBy(2, SEVERAL)).toBe(false);
  expect(await isLeftBy(3, SEVERAL)).toBe(false);
  await claim();
  const { id: actor, guard } = server;
  await releaseClaim(parts, { ticket: place, worker: actor, guard, actor, reason: "it ended" });
  expect(await isLeftBy(2, SEVERAL)).toBe(true);
});

it("waits on while a server that has the key is busy", async () => {
  const { isLeftBy, isBusyWith, ticket, clock } = await start();
  await isBusyWith(1);
  expect((await ticket()).ticket.leftAtMs).toBe(0n);
  expect(await isLeftBy(2, SEVERAL)).toBe(true);
  for (let minute = 0; minute < 25; minute += 1) {
    clock.skip(60_000);
    await isBusyWith(1);
    expect(await isLeftBy(2, SEVERAL)).toBe(true);
  }
  // Another one without the key says nothing.
  for (let minute = 0; minute < 10; minute += 1) {
    clock.skip(60_000);
    await isBusyWith(3);
  }
  expect(await isLeftBy(2, SEVERAL)).toBe(false);
});
