import { describe, expect, test } from "vitest";
import { checkHistory } from "./check-history.ts";
import type {
  EventRecord,
  History,
  ReadCall,
  Sighting,
  WatchRecord,
  WriteCall,
  WriteResult,
} from "./history.ts";

// Histories by hand: one key, moments written out, so that each rule is seen to hold and to break.

const seen = (version: string, token: string): Sighting => ({ uid: "u", version, token });

function write(
  [start, end]: readonly [number, number],
  expected: string,
  token: string,
  result: WriteResult,
  guards: WriteCall["guards"] = [],
): WriteCall {
  const steps = [{ kind: "write" as const, key: "k", uid: "u", expected, token }];
  return { instance: 0, steps, guards, start, end, result };
}

const ok = (version: string): WriteResult => ({ kind: "ok", versions: [version] });
const LOST = Number.POSITIVE_INFINITY;

function read([start, end]: readonly [number, number], found: Sighting | undefined): ReadCall {
  return { instance: 0, key: "k", mode: "strong", start, end, found };
}

function event(at: number, version: string, token: string): EventRecord {
  return { at, operation: "upsert", key: "k", seen: seen(version, token) };
}

function watch(deltas: readonly EventRecord[], drained = true): WatchRecord {
  return {
    instance: 0,
    prefix: "",
    established: 0,
    snapshot: [],
    deltas,
    resumes: undefined,
    drained,
  };
}

const history = (parts: Partial<History>): History => ({
  writes: [],
  reads: [],
  watches: [],
  ...parts,
});

const rules = (parts: Partial<History>): readonly string[] =>
  checkHistory(history(parts)).map((violation) => violation.rule);

describe("a history of one key", () => {
  const first = write([1, 2], "", "a", ok("1"));
  const second = write([3, 6], "1", "b", ok("2"));

  test("may show a write from any moment of its call on", () => {
    for (const found of [seen("1", "a"), seen("2", "b")]) {
      expect(rules({ writes: [first, second], reads: [read([4, 5], found)] })).toEqual([]);
    }
    expect(rules({ writes: [first, second], reads: [read([7, 8], seen("2", "b"))] })).toEqual([]);
  });

  test("must show a write after its call, and not before", () => {
    expect(rules({ writes: [first, second], reads: [read([7, 8], seen("1", "a"))] })).toEqual([
      "linearizability",
    ]);
    const early = write([3, 6], "1", "b", ok("2"));
    expect(
      rules({
        writes: [write([1, 2], "", "a", ok("1")), { ...early, start: 5 }],
        reads: [read([3, 4], seen("2", "b"))],
      }),
    ).toContain("linearizability");
  });

  test("may or may not show a write whose answer was lost, but not take it back", () => {
    const lost = write([3, LOST], "1", "b", { kind: "unknown" });
    const writes = [first, lost];
    expect(rules({ writes, reads: [read([4, 5], seen("1", "a"))] })).toEqual([]);
    expect(rules({ writes, reads: [read([4, 5], seen("2", "b"))] })).toEqual([]);
    // Much later is possible too.
    expect(
      rules({ writes, reads: [read([4, 5], seen("1", "a")), read([6, 7], seen("2", "b"))] }),
    ).toEqual([]);
    expect(
      rules({ writes, reads: [read([4, 5], seen("2", "b")), read([6, 7], seen("1", "a"))] }),
    ).toContain("linearizability");
  });

  test("has the refusals that the contract asks for", () => {
    const refused = (code: "STORAGE_CAS_FAILURE" | "STORAGE_WRONG_UID"): WriteResult => ({
      kind: "refused",
      code,
      index: 0,
    });
    const late = write([7, 8], "1", "c", refused("STORAGE_CAS_FAILURE"));
    expect(rules({ writes: [first, second, late] })).toEqual([]);
    const wrong = write([7, 8], "1", "c", refused("STORAGE_WRONG_UID"));
    expect(rules({ writes: [first, second, wrong] })).toEqual(["linearizability"]);
    const needless = write([7, 8], "2", "c", refused("STORAGE_CAS_FAILURE"));
    expect(rules({ writes: [first, second, needless] })).toEqual(["linearizability"]);
  });

  test("gives no version twice", () => {
    const again = write([7, 8], "2", "c", ok("1"));
    expect(rules({ writes: [first, second, again] })).toContain("version-reuse");
  });

  test("reaches watches complete, in order and once", () => {
    const writes = [first, second];
    const [one, two] = [event(3, "1", "a"), event(7, "2", "b")];
    expect(rules({ writes, watches: [watch([one, two])] })).toEqual([]);
    expect(rules({ writes, watches: [watch([one], false)] })).toEqual([]);
    expect(rules({ writes, watches: [watch([one])] })).toContain("missing-event");
    expect(rules({ writes, watches: [watch([two, one])] })).toContain("event-order");
    expect(rules({ writes, watches: [watch([one, one, two])] })).toContain("repeated-event");
    expect(rules({ writes, watches: [watch([one, two, event(8, "3", "never")])] })).toContain(
      "phantom-event",
    );
  });

  test("brings no event before its call, nor one of a call that was refused", () => {
    expect(
      rules({ writes: [first, second], watches: [watch([event(0, "1", "a")], false)] }),
    ).toContain("phantom-event");
    const refused = write([3, 6], "x", "b", {
      kind: "refused",
      code: "STORAGE_CAS_FAILURE",
      index: 0,
    });
    const watches = [watch([event(3, "1", "a"), event(7, "2", "b")], false)];
    expect(rules({ writes: [first, refused], watches })).toContain("phantom-event");
  });

  test("shows no read less than an event or an earlier read of its instance", () => {
    const writes = [first, second];
    const watches = [watch([event(3, "1", "a"), event(7, "2", "b")])];
    const stale = { ...read([8, 9], seen("1", "a")), mode: "eventual" as const };
    expect(rules({ writes, watches, reads: [stale] })).toEqual(["monotonic-reads"]);
    expect(rules({ writes, watches, reads: [{ ...stale, start: 6 }] })).toEqual([]);
    expect(rules({ writes, watches, reads: [{ ...stale, instance: 1 }] })).toEqual([]);
    const nothing = { ...stale, found: undefined };
    expect(rules({ writes, watches, reads: [nothing] })).toEqual(["monotonic-reads"]);
  });
});
