import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSqliteStorage } from "../../engine/sqlite.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../scratch-directory.ts";
import { checkEvents, type EventTable, type EventTableRow } from "./check-events.ts";
import { readSqliteTable } from "./event-tables.ts";
import type { History, WriteCall } from "./history.ts";
import { runWorkload } from "./workload.ts";

let scratch: ScratchDirectory;
let history: History;
let table: EventTable;

beforeAll(async () => {
  scratch = await makeScratchDirectory();
  const directory = join(scratch.path, "store");
  await using storage = await createSqliteStorage({ directory });
  history = await runWorkload({ instances: [storage], seed: 1, operations: 400 });
  table = readSqliteTable(directory);
});

afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

const withEvents = (events: readonly EventTableRow[]): EventTable => ({ ...table, events });

/** The events numbered anew, so that what is missing among them leaves no gap. */
function numbered(events: readonly EventTableRow[]): EventTable {
  const rows = events.map((event, index) => ({ ...event, revision: index + 1 }));
  return { ...table, events: rows, revision: rows.length };
}

/** The first acknowledged call of this form, and the place of the event of its step. */
function findCall(is: (call: WriteCall) => boolean, step = 0): readonly [WriteCall, number] {
  for (const call of history.writes) {
    const written = call.steps[step];
    if (call.result.kind !== "ok" || written?.kind !== "write" || !is(call)) continue;
    return [call, table.events.findIndex(({ token }) => token === written.token)];
  }
  throw new Error("the workload has no such call");
}

function rulesOf(changed: EventTable, of: History = history): readonly string[] {
  return checkEvents(of, changed).map(({ rule }) => rule);
}

const isBatch = ({ steps }: WriteCall): boolean =>
  steps.length > 1 && steps.every(({ kind }) => kind === "write");

test("the event table of a sqlite store explains a history of it", () => {
  expect(checkEvents(history, table)).toEqual([]);
  expect(table.events.length).toBeGreaterThan(50);
});

describe("the comparison with the event table catches", () => {
  test("a commit without an event", () => {
    const [, place] = findCall(({ steps }) => steps.length === 1);
    expect(rulesOf(withEvents(table.events.toSpliced(place, 1)))).toContain("gap");
    expect(rulesOf(numbered(table.events.toSpliced(place, 1)))).toContain("missing-event");
  });

  test("events that are lost at the end", () => {
    expect(rulesOf(withEvents(table.events.slice(0, -3)))).toContain("gap");
  });

  test("a version with two writers", () => {
    const [{ steps }, place] = findCall(({ steps: { length } }) => length === 1);
    const again = { ...(table.events[place] as EventTableRow) };
    const events = table.events.toSpliced(place + 1, 0, again);
    expect(rulesOf(withEvents(events))).toContain("repeated-event");
    const other = table.events.findIndex(({ key }) => key !== steps[0]?.key);
    const { version = "" } = table.events[other] ?? {};
    const reused = table.events.map((event, at) => (at === place ? { ...event, version } : event));
    expect(rulesOf(withEvents(reused))).toContain("version-reuse");
  });

  test("commits in another order than that of their calls", () => {
    const moved = table.events.at(-4) as EventTableRow;
    const events = numbered([...table.events.slice(0, 10), moved, ...table.events.slice(10)]);
    const versions = events.events.map((event) => ({ ...event, version: String(event.revision) }));
    expect(rulesOf({ ...events, events: versions })).toContain("event-order");
  });

  test("an event of a call that was refused", () => {
    const refused = history.writes.find(({ result }) => result.kind === "refused");
    const [step] = refused?.steps ?? [];
    if (step?.kind !== "write") throw new Error("the workload has no refused write");
    const revision = table.events.length + 1;
    const { key, uid, token } = step;
    const version = String(revision);
    const event = { operation: "upsert", revision, key, uid, version, token } as const;
    const changed = { ...table, revision, events: [...table.events, event] };
    expect(rulesOf(changed)).toContain("phantom-event");
  });

  test("a batch of which a part is missing, or stands apart", () => {
    const [call, place] = findCall(isBatch, 1);
    expect(call.steps.length).toBeGreaterThan(1);
    expect(rulesOf(numbered(table.events.toSpliced(place, 1)))).toContain("batch");
    const part = table.events[place] as EventTableRow;
    const apart = [...table.events.toSpliced(place, 1), part];
    expect(rulesOf(numbered(apart))).toContain("batch");
  });

  test("a guard that did not hold", () => {
    const [guarded] = findCall(({ guards }) => guards.length > 0);
    const guards = guarded.guards.map((guard) => ({ ...guard, version: "999999" }));
    const writes = history.writes.map((call) => (call === guarded ? { ...call, guards } : call));
    expect(rulesOf(table, { ...history, writes })).toContain("guard");
  });

  test("a stored resource that is not what its events end at", () => {
    const [key = ""] = [...table.stored.keys()].filter((name) => !name.includes("~end"));
    const stored = new Map([...table.stored].filter(([name]) => name !== key));
    expect(rulesOf({ ...table, stored })).toEqual(["stored-state"]);
  });
});
