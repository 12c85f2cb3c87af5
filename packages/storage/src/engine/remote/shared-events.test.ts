import { WatchListResponse } from "@stackwright/proto/storage";
import { expect, test } from "vitest";
import { A1, HOME, sample } from "../../testing/samples.ts";
import type { StorageBackend, Watch, WatchEvent } from "../../types.ts";
import { createMemoryStorage } from "../memory.ts";
import { SharedEvents } from "./shared-events.ts";

/** Takes so many events of each watch, in turns. */
async function takeInTurns(
  watches: readonly Watch[],
  events: SharedEvents,
  count: number,
): Promise<readonly (readonly WatchListResponse[])[]> {
  const taken: WatchListResponse[][] = watches.map(() => []);
  for (let turn = 0; turn < count; turn += 1) {
    for (const [index, watch] of watches.entries()) {
      taken[index]?.push(events.toResponse(await watch.next()));
    }
  }
  return taken;
}

async function openWatches(storage: StorageBackend, count: number): Promise<readonly Watch[]> {
  return Promise.all(Array.from({ length: count }, async () => storage.watchList(A1, HOME, "")));
}

test("events are encoded once for all watches, each as what it is", async () => {
  await using storage = createMemoryStorage();
  const events = new SharedEvents();
  const watches = await openWatches(storage, 20);
  const joined = watches.map(() => events.join());
  // One name over two versions, its deletion, and another lifetime.
  const created = await storage.writeCAS(sample(A1, HOME, "web"));
  const updated = await storage.writeCAS({ ...created, metadata: { color: "blue" } });
  await storage.deleteCAS(updated.id, updated.version);
  await storage.writeCAS(sample(A1, HOME, "web", { uid: "another" }));
  const taken = await takeInTurns(watches, events, 4);
  const decoded = taken.map((responses) =>
    responses.map((response) => WatchListResponse.decode(events.serialize(response))),
  );
  expect(events.encodings).toBe(4);
  for (const responses of decoded) expect(responses).toEqual(decoded[0]);
  const cases = decoded[0]?.map(({ events: [event] }) => event?.event?.$case);
  expect(cases).toEqual(["upsert", "upsert", "delete", "upsert"]);
  const cursors = new Set(decoded[0]?.map(({ events: [event] }) => event?.cursor));
  expect(cursors.size).toBe(4);
  for (const one of joined) one[Symbol.dispose]();
  for (const watch of watches) watch.close();
});

test("watches that are far apart get every event, also those that are forgotten by then", async () => {
  await using storage = createMemoryStorage({ watchBuffer: { events: 10_000 } });
  const events = new SharedEvents();
  const [ahead, behind] = (await openWatches(storage, 2)) as [Watch, Watch];
  using _first = events.join();
  using _second = events.join();
  const count = 1_500;
  for (let index = 0; index < count; index += 1) {
    await storage.writeCAS(sample(A1, HOME, `n${index}`));
  }
  const namesOf = async (watch: Watch): Promise<readonly string[]> => {
    const names: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const response = events.toResponse(await watch.next());
      const { event } = WatchListResponse.decode(events.serialize(response)).events[0] ?? {};
      names.push(event?.$case === "upsert" ? (event.value.id?.name ?? "") : "");
    }
    return names;
  };
  const names = await namesOf(ahead);
  expect(names).toEqual(Array.from({ length: count }, (_, index) => `n${index}`));
  expect(await namesOf(behind)).toEqual(names);
  ahead.close();
  behind.close();
});

test("one watch alone keeps nothing", () => {
  const events = new SharedEvents();
  using _ = events.join();
  const event: WatchEvent = { operation: "upsert", resource: sample(A1, HOME, "web") };
  expect(events.toResponse(event)).not.toBe(events.toResponse(event));
});
