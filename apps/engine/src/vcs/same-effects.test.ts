import { PlanSummary } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { haveSameEffects, readExactly } from "./same-effects.ts";
import type { VcsParts } from "./vcs-parts.ts";

it("tells large numbers of plans apart", () => {
  const plan = (id: string): string => `{"changes": [{"after": {"account": ${id}, "word": "x"}}]}`;
  const first = readExactly(plan("12345678901234567890"));
  expect(first).toEqual(readExactly(plan("12345678901234567890")));
  expect(first).not.toEqual(readExactly(plan("12345678901234567891")));
  expect(readExactly(plan("1"))).not.toEqual(readExactly(plan('"1"')));
});

it("tells plans apart that move other objects, or leave others to a later run", async () => {
  const { parts, put, stack } = createRunFixture();
  const reference = await stack("one");
  const blobs = {
    async *read(sha256: string) {
      yield Buffer.from(DOCUMENTS[sha256] ?? "");
    },
  };
  const runs = Object.keys(DOCUMENTS).map((run) => ({ stack: reference, run }));
  for (const run of runs) {
    const summary = PlanSummary.create({ documentSha256: run.run });
    await put(SERVER_KINDS.summary, runPlace(run), summary);
  }
  const [shown, ...made] = runs;
  if (shown === undefined) throw new Error("there is no run");
  const vcsParts = { ...parts, blobs } as unknown as VcsParts;
  const { signal } = new AbortController();
  const same = made.map(async (run) => haveSameEffects(vcsParts, shown, run, signal));
  expect(await Promise.all(same)).toEqual([true, false, false]);
});

const DOCUMENTS: Readonly<Record<string, string>> = {
  shown: '{"changes": []}',
  same: '{"changes": [], "created_at_ms": 1}',
  moved: '{"changes": [], "moves": [{"from": "t.a", "to": "t.b"}]}',
  deferred: '{"changes": [], "deferred": [{"address": "t.a", "because": "x"}]}',
};
