import { silentLogger } from "@stackwright/base/logger";
import { Run_Mode } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { CountedLists } from "../testing/counted-lists.ts";
import { LateWatches } from "../testing/late-watches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { silentWatches } from "../testing/silent-watches.ts";
import { cancelRun } from "./cancel.ts";
import type { ListedTicket } from "./choose-ticket.ts";
import { claimTicket } from "./claim.ts";
import { listTickets } from "./sweep.ts";
import { TicketBoard } from "./ticket-board.ts";
import { idOf } from "./transaction.ts";

function start(wrap: (storage: CountedLists) => StorageBackend = (one) => one) {
  const storage = new CountedLists(createMemoryStorage());
  const fixture = createRunFixture(wrap(storage));
  const board = new TicketBoard({ ...fixture.parts, logger: silentLogger });
  onTestFinished(async () => board[Symbol.asyncDispose]());
  const enqueue = async (name: string) =>
    fixture.enqueue(await fixture.stack(name), name, Run_Mode.MODE_PLAN_ONLY);
  return { ...fixture, storage, board, enqueue };
}

/** Tickets by their names, each with whether it is claimed. */
function shown(tickets: readonly ListedTicket[]): readonly string[] {
  return tickets
    .map(({ id, ticket }) => `${id.name} ${ticket.claim === undefined ? "free" : "claimed"}`)
    .toSorted((a, b) => (a < b ? -1 : 1));
}

it("has what the store has after each change, and reads nothing from it", async () => {
  const { storage, parts, board, enqueue, worker } = start();
  const one = await enqueue("one");
  const two = await enqueue("two");
  const agrees = async (): Promise<void> =>
    expect
      .poll(async () => shown(await board.list()))
      .toEqual(shown(await listTickets({ ...parts, logger: silentLogger })));
  await agrees();
  await claimTicket(parts, idOf(SERVER_KINDS.ticket, ticketPlace(one)), await worker("w"), "t");
  await agrees();
  await cancelRun(parts, two, { actor: "ann" });
  await agrees();
  expect(shown(await board.list())).toEqual([`${ticketPlace(one).name} claimed`]);
  storage.lists = 0;
  await board.list();
  expect(storage.lists).toBe(0);
});

it("rings for a ticket that no worker has, and not for a claim", async () => {
  const { parts, board, enqueue, worker } = start();
  const signal = AbortSignal.timeout(10_000);
  const rung = board.rung(signal);
  const one = await enqueue("one");
  await rung;
  await expect.poll(async () => (await board.list()).length).toBe(1);
  const again = new AbortController();
  let rings = 0;
  const next = board.rung(again.signal).then(() => {
    rings += 1;
    return rings;
  });
  await claimTicket(parts, idOf(SERVER_KINDS.ticket, ticketPlace(one)), await worker("w"), "t");
  await expect.poll(async () => (await board.list())[0]?.ticket.claim).toBeDefined();
  expect(rings).toBe(0);
  await enqueue("two");
  await next;
  expect(signal.aborted).toBe(false);
});

it("has the tickets of the store while its watch says nothing", async () => {
  const { storage, board, enqueue } = start(silentWatches);
  const one = await enqueue("one");
  expect(shown(await board.list())).toEqual([`${ticketPlace(one).name} free`]);
  expect(storage.lists).toBe(1);
});

it("leaves a damaged ticket out, and has the others", async () => {
  const { board, enqueue, damage } = start();
  const one = await enqueue("one");
  const two = await enqueue("two");
  await expect.poll(async () => (await board.list()).length).toBe(2);
  await damage(SERVER_KINDS.ticket, ticketPlace(one));
  await expect
    .poll(async () => shown(await board.list()))
    .toEqual([`${ticketPlace(two).name} free`]);
});

async function startUnreliable() {
  const storage = new CountedLists(createMemoryStorage());
  const watches = new LateWatches(storage);
  const fixture = createRunFixture(watches);
  const board = new TicketBoard({ ...fixture.parts, logger: silentLogger });
  onTestFinished(async () => board[Symbol.asyncDispose]());
  const enqueue = async (name: string) =>
    fixture.enqueue(await fixture.stack(name), name, Run_Mode.MODE_PLAN_ONLY);
  const one = await enqueue("one");
  await expect.poll(async () => (await board.list()).length).toBe(1);
  return { ...fixture, storage, watches, board, enqueue, one };
}

it("learns from a list of the store what its watch lost, and rings for it", async () => {
  const { watches, parts, board, enqueue, one } = await startUnreliable();
  watches.isSilent = true;
  await cancelRun(parts, one, { actor: "ann" });
  const two = await enqueue("two");
  expect(shown(await board.list())).toEqual([`${ticketPlace(one).name} free`]);
  const rung = board.rung(AbortSignal.timeout(10_000));
  const listed = await board.listStored();
  expect(shown(listed)).toEqual([`${ticketPlace(two).name} free`]);
  expect(shown(await board.list())).toEqual(shown(listed));
  await rung;
});

it("keeps what its watch said while the store was listed", async () => {
  const { storage, parts, board, enqueue, one } = await startUnreliable();
  const held = Promise.withResolvers<void>();
  storage.hold = held.promise;
  const before = storage.lists;
  const listing = board.listStored();
  await expect.poll(() => storage.lists).toBe(before + 1);
  await cancelRun(parts, one, { actor: "ann" });
  const two = await enqueue("two");
  const present = [`${ticketPlace(two).name} free`];
  await expect.poll(async () => shown(await board.list())).toEqual(present);
  held.resolve();
  // It was read before both changes.
  expect(shown(await listing)).toEqual([`${ticketPlace(one).name} free`]);
  expect(shown(await board.list())).toEqual(present);
});

it("reads one list for all that ask while another one is read, and begins it after that", async () => {
  const { storage, watches, board, enqueue } = await startUnreliable();
  watches.isSilent = true;
  const held = Promise.withResolvers<void>();
  storage.hold = held.promise;
  const before = storage.lists;
  const first = board.listStored();
  await expect.poll(() => storage.lists).toBe(before + 1);
  await enqueue("two");
  const others = [board.listStored(), board.listStored(), board.listStored()];
  storage.hold = Promise.resolve();
  held.resolve();
  expect(await first).toHaveLength(1);
  for (const other of others) expect(await other).toHaveLength(2);
  expect(storage.lists).toBe(before + 2);
  expect(await board.list()).toHaveLength(2);
});

it("reads one list at a time, whenever others ask for one", async () => {
  const { storage, board } = await startUnreliable();
  let atOnce = 0;
  let most = 0;
  const list = storage.list.bind(storage);
  storage.list = async (...given) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    const found = await list(...given);
    atOnce -= 1;
    return found;
  };
  const asks = Array.from({ length: 20 }, async (_, count) => {
    for (let turn = 0; turn < 20; turn += 1) {
      for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
      await board.listStored();
    }
  });
  await Promise.all(asks);
  expect(most).toBe(1);
});

it("lets who no longer waits go, and reads the list for the others", async () => {
  const { storage, board } = await startUnreliable();
  const held = Promise.withResolvers<void>();
  storage.hold = held.promise;
  const going = new AbortController();
  const gone = board.listStored({ signal: going.signal });
  const other = board.listStored();
  going.abort(new Error("the worker ends"));
  await expect(gone).rejects.toThrow("the worker ends");
  held.resolve();
  expect(await other).toHaveLength(1);
});
