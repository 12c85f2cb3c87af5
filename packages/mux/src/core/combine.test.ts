import { structFromJson, structToJson } from "@stackwright/proto/property";
import {
  DiffRequest,
  DiffResponse,
  DiffResponse_DiffChanges,
  PropertyDiff_Kind,
} from "@stackwright/proto/pulumirpc";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { combineChecks } from "./combine-check-config.ts";
import { combineCapabilities } from "./combine-configure.ts";
import { combineDiffs } from "./combine-diff-config.ts";
import { createConfigFilter, topLevelName } from "./config-filter.ts";
import { structMembers } from "./struct-members.ts";

const { DIFF_NONE, DIFF_SOME, DIFF_UNKNOWN } = DiffResponse_DiffChanges;

function diff(fields: Partial<DiffResponse>): DiffResponse {
  return DiffResponse.create(fields);
}

function details(entries: Record<string, PropertyDiff_Kind>) {
  const map = Object.entries(entries).map(
    ([path, kind]) => [path, { kind, inputDiff: false }] as const,
  );
  return { detailedDiff: new Map(map), hasDetailedDiff: true };
}

describe("combineDiffs", () => {
  it("returns a single reply as it is", () => {
    const reply = diff({ diffs: ["b", "a"], replaces: ["a"] });
    expect(combineDiffs([reply])).toBe(reply);
  });

  it.each([
    [[DIFF_NONE, DIFF_NONE], DIFF_NONE],
    [[DIFF_NONE, DIFF_UNKNOWN], DIFF_UNKNOWN],
    [[DIFF_UNKNOWN, DIFF_SOME], DIFF_SOME],
    [[DIFF_SOME, DIFF_NONE], DIFF_SOME],
  ])("ranks verdicts: %j", (verdicts, expected) => {
    expect(combineDiffs(verdicts.map((changes) => diff({ changes }))).changes).toBe(expected);
  });

  it("lets a kind that replaces win on one path", () => {
    const update = diff({ changes: DIFF_SOME, ...details({ a: PropertyDiff_Kind.UPDATE }) });
    const replace = diff({
      changes: DIFF_SOME,
      ...details({ a: PropertyDiff_Kind.UPDATE_REPLACE }),
    });
    for (const order of [
      [update, replace],
      [replace, update],
    ]) {
      expect(combineDiffs(order).detailedDiff.get("a")?.kind).toBe(
        PropertyDiff_Kind.UPDATE_REPLACE,
      );
    }
  });

  it("has no details when a server that reports changes gives none", () => {
    const detailed = diff({ changes: DIFF_SOME, ...details({ a: PropertyDiff_Kind.UPDATE }) });
    expect(combineDiffs([detailed, diff({ changes: DIFF_SOME })]).hasDetailedDiff).toBe(false);
    expect(combineDiffs([detailed, diff({ changes: DIFF_NONE })]).hasDetailedDiff).toBe(true);
  });

  it("gives the same for every order of the servers, and keeps the protocol's invariants", () => {
    const names = fc.subarray(["a", "b", "c"]);
    const reply = fc
      .record({
        changes: fc.constantFrom(DIFF_NONE, DIFF_SOME, DIFF_UNKNOWN),
        replaces: names,
        diffs: names,
        stables: names,
        deleteBeforeReplace: fc.boolean(),
      })
      .map((fields) => {
        // A server keeps the invariant itself: what its details speak of is in its diffs.
        const kinds = fields.diffs.map((name) => [name, PropertyDiff_Kind.UPDATE]);
        return diff({ ...fields, ...details(Object.fromEntries(kinds)) });
      });
    fc.assert(
      fc.property(fc.array(reply, { minLength: 2, maxLength: 4 }), (replies) => {
        const result = combineDiffs(replies);
        const reversed = combineDiffs(replies.toReversed());
        const comparable = (value: DiffResponse) => ({
          ...value,
          detailedDiff: [...value.detailedDiff.keys()].toSorted(),
        });
        expect(comparable(reversed)).toEqual(comparable(result));
        const changed = new Set([...result.diffs, ...result.replaces]);
        expect(result.stables.filter((name) => changed.has(name))).toEqual([]);
        for (const path of result.detailedDiff.keys()) expect(changed).toContain(path);
        expect(new Set(result.diffs).size).toBe(result.diffs.length);
      }),
    );
  });
});

describe("combineCapabilities", () => {
  const all = combineCapabilities([], "ignored");

  it("is the AND of all servers", () => {
    const one = { ...all, acceptSecrets: false };
    const two = { ...all, acceptOutputs: false };
    const expected = { ...all, acceptSecrets: false, acceptOutputs: false };
    expect(combineCapabilities([one, two], "ignored")).toEqual(expected);
  });

  it("lets a server without Configure count or not", () => {
    expect(combineCapabilities([all, undefined], "ignored")).toEqual(all);
    expect(combineCapabilities([all, undefined], "can-nothing").supportsPreview).toBe(false);
  });
});

describe("combineChecks", () => {
  const check = (server: string, inputs: object, ...reasons: string[]) => ({
    server,
    reply: {
      inputs: structFromJson(inputs),
      failures: reasons.map((reason) => ({ property: "p", reason })),
    },
  });

  it("names every key that servers disagree on, with the servers", () => {
    const checks = [check("x", { a: 1, b: 1, c: 1 }), check("y", { a: 2, b: 1, c: 3 })];
    expect(() => combineChecks(checks, { mismatch: "error", kept: [] })).toThrow(
      /a \(x, y\), c \(x, y\)/,
    );
  });

  it("counts a key that one server dropped and another one returned as a difference", () => {
    const given = new Set(["region"]);
    const kept = { ...check("x", { region: "eu" }), given };
    const dropped = { ...check("y", { other: 1 }), given };
    expect(() => combineChecks([kept, dropped], { mismatch: "error", kept: [] })).toThrow(
      /region \(x, and not y\)/,
    );
    expect(() => combineChecks([dropped, kept], { mismatch: "error", kept: [] })).toThrow(
      /region \(x, and not y\)/,
    );
    const { inputs } = combineChecks([kept, dropped], { mismatch: "first-wins", kept: [] });
    expect(structToJson(inputs ?? new Uint8Array())).toEqual({ region: "eu", other: 1 });
    // Dropped by both, not given to one, or without a value.
    for (const checks of [
      [dropped, { ...dropped, server: "z" }],
      [kept, check("y", { other: 1 })],
      [{ ...check("x", { region: null }), given }, dropped],
    ]) {
      expect(() => combineChecks(checks, { mismatch: "error", kept: [] })).not.toThrow();
    }
  });

  it("takes the first value where that is asked for", () => {
    const checks = [check("x", { a: 1 }), check("y", { a: 2 })];
    const { inputs } = combineChecks(checks, { mismatch: "first-wins", kept: [] });
    expect(structToJson(inputs ?? new Uint8Array())).toEqual({ a: 1 });
  });

  it("lists equal failures once", () => {
    const checks = [check("x", {}, "bad"), check("y", {}, "bad", "worse")];
    const { failures } = combineChecks(checks, { mismatch: "error", kept: [] });
    expect(failures.map(({ reason }) => reason)).toEqual(["bad", "worse"]);
  });

  it("keeps members that no server returned", () => {
    const kept = structMembers(structFromJson({ a: 9, version: "1" }));
    const { inputs } = combineChecks([check("x", { a: 1 })], { mismatch: "error", kept });
    expect(structToJson(inputs ?? new Uint8Array())).toEqual({ a: 1, version: "1" });
  });
});

describe("createConfigFilter", () => {
  const filter = createConfigFilter([new Set(["a", "s"]), new Set(["b", "s"]), undefined]);
  const seen = (server: number, struct: object) => {
    const request = { args: structFromJson(struct), variables: new Map([["p:config:a", "1"]]) };
    const result = filter.configure(server, { ...EMPTY_CONFIGURE, ...request });
    return {
      args: structToJson(result.args ?? new Uint8Array()),
      variables: [...result.variables.keys()],
    };
  };

  it("shows a server its own keys, shared keys, and keys that no schema has", () => {
    const everything = { a: 1, b: 2, s: 3, other: { deep: [null] } };
    expect(seen(0, everything).args).toEqual({ a: 1, s: 3, other: { deep: [null] } });
    expect(seen(1, everything).args).toEqual({ b: 2, s: 3, other: { deep: [null] } });
    expect(seen(2, everything).args).toEqual(everything);
  });

  it("filters legacy variables by the same keys", () => {
    expect(seen(0, {}).variables).toEqual(["p:config:a"]);
    expect(seen(1, {}).variables).toEqual([]);
  });

  it("shows a server what is ignored of its own keys, and of those that no schema has", () => {
    const ignoreChanges = ["a.deep", "b", '["b"]', "other[0]"];
    const ignored = (server: number) =>
      filter.diff(server, DiffRequest.create({ ignoreChanges })).ignoreChanges;
    expect(ignored(0)).toEqual(["a.deep", "other[0]"]);
    expect(ignored(1)).toEqual(["b", '["b"]', "other[0]"]);
    expect(ignored(2)).toEqual(ignoreChanges);
  });

  it("passes the bytes of what it keeps on untouched", () => {
    const members = structMembers(structFromJson({ a: 1e21, b: null }));
    const bytes = structFromJson({ a: 1e21 });
    expect(Buffer.compare(members[0]?.bytes ?? new Uint8Array(), bytes)).toBe(0);
  });
});

const EMPTY_CONFIGURE = {
  acceptSecrets: false,
  acceptResources: false,
  sendsOldInputs: false,
  sendsOldInputsToDelete: false,
  args: undefined,
  variables: new Map<string, string>(),
};

describe("topLevelName", () => {
  it.each([
    ["a", "a"],
    ["a.b", "a"],
    ["a[0].b", "a"],
    ['["x.y"].z', "x.y"],
    ['["q\\"x"]', 'q"x'],
  ])("%s", (path, name) => {
    expect(topLevelName(path)).toBe(name);
  });
});
