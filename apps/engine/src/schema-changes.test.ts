import { createManualClock } from "@stackwright/base/testing";
import type { SchemaChange } from "@stackwright/core";
import { expect, it } from "vitest";
import { createSchemaChanges } from "./schema-changes.ts";

const CHANGE: SchemaChange = {
  of: "resource",
  name: "notes_note",
  path: "tags",
  change: "added",
  before: "",
  after: "string, optional",
  breaks: false,
};
const SCOPE = { account: "acme", name: "notes" };
const signal = AbortSignal.timeout(60_000);

type Changes = readonly SchemaChange[];

function start(answer: (call: number, signal: AbortSignal) => Changes | Promise<Changes>) {
  const clock = createManualClock();
  const seen = { calls: 0, digest: "d1" };
  const find = createSchemaChanges({
    clock,
    region: "r",
    registry: {
      showVersion: async (_scope: unknown, { version }: { readonly version: string }) => ({
        source: "huawei.com/private-provider/notes",
        versionId: `id-${version}`,
        functionUrn: `urn-${version}`,
      }),
      showHealth: async () => ({ schemaDigest: seen.digest }),
    } as never,
    functions: {
      schemaChanges: async (_asked, options) => {
        seen.calls += 1;
        return answer(seen.calls, options.signal);
      },
    },
  });
  return { clock, seen, find };
}

it("viewers who compare the same again call no function, until another schema was seen or time has passed", async () => {
  const { clock, seen, find } = start(() => [CHANGE]);
  const compare = async (to: string, account = SCOPE.account) =>
    find({ ...SCOPE, account, from: "1.0.0", to }, { signal });
  const first = await compare("1.1.0");
  expect(first.changes).toEqual([CHANGE]);
  for (let again = 0; again < 20; again += 1) expect(await compare("1.1.0")).toEqual(first);
  expect(seen.calls).toBe(1);
  await compare("1.2.0");
  expect(seen.calls).toBe(2);
  // What one account got is not for another one.
  await compare("1.1.0", "other");
  expect(seen.calls).toBe(3);
  seen.digest = "d2";
  await compare("1.1.0");
  expect(seen.calls).toBe(4);
  clock.skip(5 * 60_000);
  await compare("1.1.0");
  expect(seen.calls).toBe(5);
});

it("what is kept is bounded", async () => {
  const many = Array.from({ length: 20_000 }, () => CHANGE);
  const { seen, find } = start(() => many);
  const compare = async (to: string) => find({ ...SCOPE, from: "1.0.0", to }, { signal });
  for (const to of ["1", "2", "3"]) await compare(to);
  expect(seen.calls).toBe(3);
  await compare("3");
  expect(seen.calls).toBe(3);
  // The first one left its place to the third.
  await compare("1");
  expect(seen.calls).toBe(4);
});

it("a function that does not answer is asked by no other viewer for a while, and where it is, is said to none", async () => {
  const { clock, seen, find } = start((call) => {
    if (call > 1) return [CHANGE];
    const text = "notes.internal:8443: connect ECONNREFUSED 10.0.0.3:8443";
    throw Object.assign(new Error(text), { code: "FG_UNREACHABLE" });
  });
  const compare = async () => find({ ...SCOPE, from: "1.0.0", to: "1.1.0" }, { signal });
  const failed = await compare().catch((error: unknown) => error as Error);
  expect(failed).toMatchObject({ code: "upstream_failed", cause: { code: "FG_UNREACHABLE" } });
  expect((failed as Error).message).toContain("FG_UNREACHABLE");
  expect((failed as Error).message).not.toMatch(/notes\.internal|10\.0\.0\.3|8443/);
  await expect(compare()).rejects.toMatchObject({ message: (failed as Error).message });
  expect(seen.calls).toBe(1);
  clock.skip(15_000);
  expect((await compare()).changes).toEqual([CHANGE]);
});

it("a caller who has given up calls no function, and leaves no failure to others", async () => {
  const { seen, find } = start(() => [CHANGE]);
  const at = { ...SCOPE, from: "1.0.0", to: "1.1.0" };
  await expect(find(at, { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(seen.calls).toBe(0);
  expect((await find(at, { signal })).changes).toEqual([CHANGE]);
  expect(seen.calls).toBe(1);
});

it("viewers who compare the same at the same time share one call, and each of them may give up", async () => {
  const end = Promise.withResolvers<Changes>();
  const begun = Promise.withResolvers<AbortSignal>();
  const { seen, find } = start(async (_call, callSignal) => {
    begun.resolve(callSignal);
    return end.promise;
  });
  const at = { ...SCOPE, from: "1.0.0", to: "1.1.0" };
  const leaving = new AbortController();
  const left = find(at, { signal: leaving.signal });
  const others = [find(at, { signal }), find(at, { signal })];
  const callSignal = await begun.promise;
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect(callSignal.aborted).toBe(false);
  end.resolve([CHANGE]);
  for (const answer of await Promise.all(others)) expect(answer.changes).toEqual([CHANGE]);
  expect(seen.calls).toBe(1);
});

it("a call ends when no viewer waits for it any more, and leaves nothing to the next one", async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const { seen, find } = start(async (call, callSignal) => {
    if (call > 1) return [CHANGE];
    begun.resolve(callSignal);
    return new Promise((_resolve, reject) => {
      callSignal.addEventListener("abort", () => reject(callSignal.reason as Error));
    });
  });
  const at = { ...SCOPE, from: "1.0.0", to: "1.1.0" };
  const leaving = new AbortController();
  const left = find(at, { signal: leaving.signal });
  const callSignal = await begun.promise;
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect(callSignal.aborted).toBe(true);
  expect((await find(at, { signal })).changes).toEqual([CHANGE]);
  expect(seen.calls).toBe(2);
});
