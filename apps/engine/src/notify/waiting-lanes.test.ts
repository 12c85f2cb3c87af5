import { NotificationEvent } from "@stackwright/proto/stackwright";
import type { Resource } from "@stackwright/storage";
import { expect, test } from "vitest";
import { WaitingLanes } from "./waiting-lanes.ts";

const PROJECT = { account: "a", project: "p" };

function event(name: string): Resource {
  return {
    id: {
      uid: "u",
      name,
      type: { group: "g", groupVersion: "v1", kind: "K" },
      tenancy: { partition: PROJECT.account, peerName: "local", namespace: PROJECT.project },
    },
  } as unknown as Resource;
}

/** Lanes of events that wait as given: destination to time. */
function lanes() {
  const waits = new Map<string, Readonly<Record<string, number>>>();
  const kept = new WaitingLanes(({ id }) =>
    NotificationEvent.create({
      waits: Object.entries(waits.get(id.name) ?? {}).map(([destination, atMs]) => ({
        destination,
        nextAtMs: BigInt(atMs),
      })),
    }),
  );
  return {
    heads: () =>
      Object.fromEntries(
        Array.from(kept.heads(), ({ lane, dueMs }) => [lane.destination, dueMs] as const),
      ),
    set: (name: string, byDestination: Readonly<Record<string, number>>) => {
      waits.set(name, byDestination);
      kept.set(event(name));
    },
    delete: (name: string) => kept.delete(event(name)),
  };
}

test("each destination waits for its oldest event, whatever order they come in", () => {
  const { heads, set } = lanes();
  set("02", { ops: 20, chat: 5 });
  set("01", { ops: 10 });
  set("03", { ops: 1, chat: 1 });
  expect(heads()).toEqual({ ops: 10, chat: 5 });
});

test("the next event follows one that was delivered or removed", () => {
  const { heads, set, delete: remove } = lanes();
  set("01", { ops: 10, chat: 11 });
  set("02", { ops: 20, chat: 21 });
  set("01", { chat: 11 });
  expect(heads()).toEqual({ ops: 20, chat: 11 });
  set("02", { ops: 25, chat: 21 });
  expect(heads()).toEqual({ ops: 25, chat: 11 });
  remove("01");
  expect(heads()).toEqual({ ops: 25, chat: 21 });
  remove("02");
  remove("02");
  expect(heads()).toEqual({});
});

test("it keeps what a list of everything would give", () => {
  const { heads, set, delete: remove } = lanes();
  const stored = new Map<string, Record<string, number>>();
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let step = 0; step < 3_000; step += 1) {
    const name = String(random(40)).padStart(2, "0");
    if (random(3) === 0) {
      stored.delete(name);
      remove(name);
    } else {
      const waits: Record<string, number> = {};
      for (const destination of ["x", "y", "z"]) {
        if (random(2) === 0) waits[destination] = random(1_000);
      }
      stored.set(name, waits);
      set(name, waits);
    }
    const expected: Record<string, number> = {};
    for (const [, waits] of [...stored].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      for (const [destination, atMs] of Object.entries(waits)) expected[destination] ??= atMs;
    }
    expect(heads()).toEqual(expected);
  }
});

test("a mail that waits for some recipients alone holds up none behind it", () => {
  const waits = new Map([["01", [50, ["later@example.com"]] as const]]);
  const kept = new WaitingLanes(({ id: { name } }) => {
    const [atMs, recipients] = waits.get(name) ?? [10, []];
    const wait = { destination: "ops", nextAtMs: BigInt(atMs), recipients: [...recipients] };
    return NotificationEvent.create({ waits: [wait] });
  });
  const due = () => Array.from(kept.heads(), ({ dueMs }) => dueMs);
  kept.set(event("01"));
  expect(due()).toEqual([50]);
  kept.set(event("02"));
  expect(due()).toEqual([10]);
  kept.delete(event("02"));
  expect(due()).toEqual([50]);
  waits.delete("01");
  kept.set(event("01"));
  expect(due()).toEqual([10]);
  kept.delete(event("01"));
  expect(due()).toEqual([]);
});
