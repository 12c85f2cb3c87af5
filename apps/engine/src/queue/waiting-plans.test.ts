import type { StackReference } from "@stackwright/core";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { claimTicket } from "./claim.ts";
import { enqueueRun } from "./enqueue.ts";
import { phaseOf } from "./run-row.ts";
import { listTickets, sweepQueues } from "./sweep.ts";
import { idOf } from "./transaction.ts";

const HOUR_MS = 3_600_000;

async function start() {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const other = await fixture.stack("two");
  const plan = async (
    source: string,
    {
      actor = "ann",
      of = stack,
      mode = Run_Mode.MODE_PLAN_ONLY,
    }: { readonly actor?: string; readonly of?: StackReference; readonly mode?: Run_Mode } = {},
  ) => {
    const reference = { stack: of, run: parts.token() };
    const stackName = of === stack ? "one" : "two";
    const given = { reference, stackName, configuration: CONFIGURATION, mode, actor, source };
    await enqueueRun(parts, given);
    return reference;
  };
  const stored = async (run: RunReference) =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  const phases = async (...runs: readonly RunReference[]) =>
    Promise.all(runs.map(async (run) => phaseOf(await stored(run))));
  const waiting = async () => {
    const queue = await storage.read("strong", idOf(SERVER_KINDS.queue, stackPlace(stack)));
    const { speculative } = decodeRecord(SERVER_KINDS.queue, queue);
    const tickets = (await listTickets(parts)).map(({ ticket }) => ticket.run);
    return { speculative, tickets: new Set(tickets) };
  };
  const claim = async (run: RunReference) => {
    const worker = await fixture.worker("w");
    const ticket = (await listTickets(parts)).find((one) => one.ticket.run === run.run);
    if (ticket === undefined) throw new Error("nothing to claim");
    expect(await claimTicket(parts, ticket.id, worker, parts.token())).toBeDefined();
  };
  return { ...fixture, stack, other, plan, stored, phases, waiting, claim };
}

it("a run that only plans ends the older ones of its source that wait, and no others", async () => {
  const { plan, stored, phases, waiting, claim, other } = await start();
  const claimed = await plan("branch/a");
  await claim(claimed);
  const older = [await plan("branch/a")];
  const kept = [
    await plan("branch/b"),
    await plan(""),
    await plan("branch/a", { actor: "bea" }),
    await plan("branch/a", { of: other }),
  ];
  older.push(await plan("branch/a"));
  const newest = await plan("branch/a");
  expect(await phases(...older)).toEqual(["superseded", "superseded"]);
  expect(await phases(claimed, ...kept, newest)).toEqual([
    "preparing",
    ...kept.map(() => "queued"),
    "queued",
  ]);
  expect(await stored(older[1] ?? newest)).toMatchObject({
    supersededBy: newest.run,
    reason: `superseded by the run ${newest.run}`,
    source: "branch/a",
  });
  const [b, none, bea, elsewhere] = kept.map(({ run }) => run);
  expect(await waiting()).toEqual({
    speculative: [claimed.run, b, none, bea, newest.run],
    tickets: new Set([claimed.run, b, none, bea, elsewhere, newest.run]),
  });
});

it("of many runs of a source that wait all end in the end, and the newest stays", async () => {
  const { plan, phases, put, stack, storage, waiting } = await start();
  const runs: RunReference[] = [];
  for (let at = 0; at < 4; at += 1) runs.push(await plan(`branch/${at}`));
  // As a release made them that did not know sources.
  for (const run of runs) {
    const message = decodeRecord(
      RUN_KIND,
      await storage.read("strong", idOf(RUN_KIND, runPlace(run))),
    );
    await put(RUN_KIND, runPlace(run), { ...message, source: "same" });
  }
  const place = stackPlace(stack);
  const queue = decodeRecord(
    SERVER_KINDS.queue,
    await storage.read("strong", idOf(SERVER_KINDS.queue, place)),
  );
  await put(SERVER_KINDS.queue, place, { ...queue, speculative: [...queue.speculative, "GONE"] });
  runs.push(await plan("same"), await plan("same"));
  const newest = await plan("same");
  expect(new Set(await phases(...runs))).toEqual(new Set(["superseded"]));
  expect(await phases(newest)).toEqual(["queued"]);
  expect((await waiting()).tickets).toEqual(new Set([newest.run]));
});

it("a run that is applied has no source", async () => {
  const { plan } = await start();
  const applied = plan("branch/a", { mode: Run_Mode.MODE_APPLY });
  await expect(applied).rejects.toMatchObject({ code: "unprocessable" });
});

it("a run that only plans is canceled when no worker has it in time; others wait on", async () => {
  const { parts, clock, plan, stack, enqueue, stored, phases, claim, waiting } = await start();
  const applied = await enqueue(stack, "one", Run_Mode.MODE_APPLY);
  const claimed = await plan("");
  await claim(claimed);
  const old = await plan("");
  clock.skip(HOUR_MS);
  const young = await plan("");
  clock.skip(23 * HOUR_MS);
  expect(await sweepQueues(parts)).toBe(0);
  clock.skip(1);
  expect(await sweepQueues(parts)).toBe(1);
  expect(await sweepQueues(parts)).toBe(0);
  expect(await phases(applied, claimed, old, young)).toEqual([
    "queued",
    "preparing",
    "canceled",
    "queued",
  ]);
  expect(await stored(old)).toMatchObject({
    reason: "no worker made the plan within 24 hours; request it again",
    reasonCode: "waited_too_long",
  });
  expect(await waiting()).toEqual({
    speculative: [claimed.run, young.run],
    tickets: new Set([applied.run, claimed.run, young.run]),
  });
  expect(await sweepQueues({ ...parts, planWaitMs: HOUR_MS })).toBe(1);
  expect(await phases(young)).toEqual(["canceled"]);
});
