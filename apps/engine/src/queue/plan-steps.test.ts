import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace, stackPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { claimTicket, type RunClaim } from "./claim.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { releaseClaim } from "./release.ts";
import { idOf } from "./transaction.ts";

async function start(mode: Run_Mode) {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const run = await fixture.enqueue(stack, "one", mode);
  const worker = await fixture.worker("w");
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  const read = async () =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  const queue = async () => {
    const id = idOf(SERVER_KINDS.queue, stackPlace(stack));
    return decodeRecord(SERVER_KINDS.queue, await storage.read("strong", id));
  };
  const claim = async (): Promise<RunClaim> => {
    const made = await claimTicket(parts, ticket, worker, parts.token());
    if (made === undefined) throw new Error("the ticket is not free");
    await beginPlanning(parts, made);
    return made;
  };
  const release = async (isReturned: boolean) =>
    releaseClaim(parts, {
      ticket,
      worker: worker.id,
      guard: worker.guard,
      actor: worker.id,
      reason: "the executor was lost",
      isReturned,
    });
  const plan = async (made: RunClaim) => {
    const digest = await fixture.plan(stack, "a");
    const summary = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };
    const texts = { documentSha256: "", viewSha256: "" };
    await recordPlan(parts, made, { digest, baseRevision: 0n, summary: { ...summary, ...texts } });
  };
  return { run, read, queue, claim, release, plan };
}

it("takes a run that only plans from the open ones of its stack, also where its plan changes something", async () => {
  const { run, queue, claim, plan } = await start(Run_Mode.MODE_PLAN_ONLY);
  expect((await queue()).speculative).toEqual([run.run]);
  await plan(await claim());
  expect((await queue()).speculative).toEqual([]);
});

it("plans a run again however often workers end in an orderly way, and fails it after three that were lost", async () => {
  const { read, claim, release } = await start(Run_Mode.MODE_APPLY);
  for (const isReturned of [true, true, true, true, false, false, true]) {
    await claim();
    await release(isReturned);
    expect((await read()).reasonCode).toBe("");
  }
  await claim();
  await release(false);
  expect((await read()).reasonCode).toBe("worker_lost");
});

it("says nothing of a lost attempt once another one goes well", async () => {
  const { read, claim, release, plan } = await start(Run_Mode.MODE_APPLY);
  await claim();
  await release(false);
  expect((await read()).reason).toBe("the executor was lost");
  const made = await claim();
  expect((await read()).reason).toBe("");
  await plan(made);
  expect((await read()).reason).toBe("");
});
