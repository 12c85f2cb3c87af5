import type { Clock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { createStoredKeys, type KeyEncryptionKey, STORED_RUN_PHASES } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { Run_Mode, RunTicket_Step } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { expect, it } from "vitest";
import { RUN_KIND, runOfTicket, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { claimTicket } from "../queue/claim.ts";
import { listTickets } from "../queue/sweep.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { isLeftToOthers } from "./left-to-others.ts";
import { KEY_WAIT_MS, LiveServers } from "./live-servers.ts";
import { type StoredClaimParts, storedClaimHost } from "./stored-claim-host.ts";

const TTL_MS = 15_000;
const SITE = tenancyOf({ kind: "site" });

function keyOf(byte: number): KeyEncryptionKey {
  return { id: `key-${byte}`, bytes: Buffer.alloc(32, byte) };
}

/** A step of a stack whose data keys are encrypted with the key 1. */
async function start() {
  const fixture = createRunFixture();
  const { storage, parts, clock, put } = fixture;
  const keysWith = (byte: number) => createStoredKeys({ storage, current: keyOf(byte) });
  const stack = await fixture.stack("one");
  await keysWith(1).ensure(stack);
  await fixture.enqueue(stack, "one", Run_Mode.MODE_PLAN_ONLY);
  const ticket = async () => {
    const [found] = await listTickets(parts);
    if (found === undefined) throw new Error("there is no ticket");
    return found;
  };
  /** What a server with a key does, as it looks now. */
  const serverWith = (byte: number, its: Clock = clock) => {
    const servers = new LiveServers({ storage, clock: its });
    return async () => isLeftToOthers({ keys: keysWith(byte) }, servers, await ticket());
  };
  /** A server that lives, and has keys. */
  const server = async (id: string, keys: readonly number[]) => {
    const worker = await fixture.worker(id);
    const keyIds = keys.map((byte) => keyOf(byte).id);
    await put(
      SERVER_KINDS.serverKeys,
      { tenancy: SITE, name: id },
      { keyIds, release: "", clock: undefined },
    );
    return worker;
  };
  return { ...fixture, ticket, serverWith, server };
}

it("a step whose key is missing is left to a server that has it, and not by who is alone", async () => {
  const { serverWith, server, worker } = await start();
  await server("A", [2]);
  expect(await serverWith(2)()).toBe(false);
  // Workers elsewhere get keys of a server.
  await worker("token-1.B");
  expect(await serverWith(2)()).toBe(false);
  await server("C", [4, 1]);
  expect(await serverWith(2)()).toBe(true);
  expect(await serverWith(1)()).toBe(false);
});

it("is left by no clock of another machine, and as long as a server that has the key lives", async () => {
  const { serverWith, server, clock, parts, ticket } = await start();
  await server("A", [2]);
  await server("B", [1]);
  const ahead = { ...clock, wallMs: () => clock.wallMs() + 10 * 60_000 };
  const [isLeft, isLeftAhead] = [serverWith(2), serverWith(2, ahead)];
  // The server that has the key is busy for half an hour.
  for (let minute = 0; minute < 30; minute += 1) {
    expect([await isLeft(), await isLeftAhead()]).toEqual([true, true]);
    await clock.advance(60_000);
  }
  // What a server of a former release noted by its clock.
  const { id } = await ticket();
  await transact(parts, async (tx) => {
    const row = await tx.get(SERVER_KINDS.ticket, id);
    tx.update(row, { leftAtMs: 1n });
  });
  expect([await isLeft(), await isLeftAhead()]).toEqual([true, true]);
});

it("waits a minute after the last server that has the key was seen", async () => {
  const { serverWith, server, storage, put, clock } = await start();
  await server("A", [2]);
  const isLeft = serverWith(2);
  // It has the key, holds its lease, and died: it renews no more.
  const dead = createLeases({ storage, owner: "B", clock: createManualClock() });
  await dead.acquire({ tenancy: SITE, name: "worker.B" });
  await put(
    SERVER_KINDS.serverKeys,
    { tenancy: SITE, name: "B" },
    { keyIds: ["key-1"], release: "", clock: undefined },
  );
  expect(await isLeft()).toBe(true);
  await clock.advance(TTL_MS);
  expect(await isLeft()).toBe(true);
  await clock.advance(KEY_WAIT_MS - TTL_MS - 1);
  expect(await isLeft()).toBe(true);
  await clock.advance(1);
  expect(await isLeft()).toBe(false);
  // It starts again, under another name.
  const { lease } = await server("C", [1]);
  expect(await isLeft()).toBe(true);
  await lease.release();
  expect(await isLeft()).toBe(true);
  await clock.advance(KEY_WAIT_MS);
  expect(await isLeft()).toBe(false);
});

it("waits a minute for a key that no live server has, and for ever for one that does not say which it has", async () => {
  const { serverWith, server, worker, clock } = await start();
  await server("A", [2]);
  await server("B", [3]);
  const [isLeft, later] = [serverWith(2), serverWith(3)];
  expect(await isLeft()).toBe(true);
  await clock.advance(KEY_WAIT_MS);
  expect(await later()).toBe(true);
  expect(await isLeft()).toBe(false);
  // Of a former release.
  await worker("C");
  for (let minute = 0; minute < 20; minute += 1) {
    expect(await isLeft()).toBe(true);
    await clock.advance(60_000);
  }
});

it("a recovery whose key is missing is given back, and left where a server has the key", async () => {
  const { serverWith, server, ticket, parts } = await start();
  const { id: place, ticket: free } = await ticket();
  await transact(parts, async (tx) => {
    const run = await tx.get(RUN_KIND, runPlace(runOfTicket(place.tenancy, free)));
    tx.update(run, { phase: STORED_RUN_PHASES.applying });
    const row = await tx.get(SERVER_KINDS.ticket, place);
    tx.update(row, { step: RunTicket_Step.STEP_RECOVER });
  });
  const alone = await server("A", [2]);
  const isLeft = serverWith(2);
  expect(await isLeft()).toBe(false);
  const claimed = await claimTicket(parts, place, alone, "digest");
  if (claimed === undefined) throw new Error("nothing to claim");
  const host = storedClaimHost(parts as unknown as StoredClaimParts, claimed);
  await host.giveUp(new EngineError("ENGINE_KEY_UNAVAILABLE", "the key is not here"));
  expect((await ticket()).ticket).toMatchObject({ claim: undefined, attempts: 1 });
  await server("B", [1]);
  expect(await isLeft()).toBe(true);
});
