import { Run_Phase, RunTicket_Step, StackHead } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  RUN_KIND,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
  ticketPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { claimTicket } from "./claim.ts";
import { approveRun, discardRun } from "./decide.ts";
import { readStackTool } from "./stack-tool.ts";
import { idOf, transact } from "./transaction.ts";

const ROUNDS = 50;

/** Runs with a plan that waits for two approvals, and no worker that would apply it. */
async function start() {
  const worker = await startFakeWorker(playPlan);
  const { parts, enqueue, reaches, fixture } = worker;
  const read = async (run: Parameters<typeof runPlace>[0]) =>
    decodeRecord(RUN_KIND, await parts.storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  const planned = async (name: string) => {
    const run = await enqueue(false, await fixture.stack(name), name);
    const { planDigest } = await reaches(run, "awaiting_approval");
    return { run, planDigest };
  };
  return { ...worker, read, planned };
}

it("two who approve at once approve once, and the last of them makes the ticket", {
  timeout: 60_000,
}, async () => {
  const { parts, planned, read, worker } = await start();
  const all = [];
  for (let round = 0; round < ROUNDS; round += 1) all.push(await planned(`s${round}`));
  await worker.close();
  for (const { run, planDigest } of all) {
    await transact(parts, async (tx) => {
      tx.update(await tx.get(RUN_KIND, runPlace(run)), { requiredApprovals: 2 });
    });
    await Promise.all(
      ["bea", "eve"].map(async (actor) => approveRun(parts, run, { actor, planDigest })),
    );
    const { phase, approvals } = await read(run);
    expect(phase).toBe(Run_Phase.PHASE_APPROVED);
    expect(approvals.map(({ actor }) => actor).toSorted()).toEqual(["bea", "eve"]);
    const ticket = await parts.storage.read("strong", idOf(SERVER_KINDS.ticket, ticketPlace(run)));
    expect(decodeRecord(SERVER_KINDS.ticket, ticket).step).toBe(RunTicket_Step.STEP_APPLY);
  }
});

it("of a discard and the claim of an apply in the same moment one wins", {
  timeout: 60_000,
}, async () => {
  const { parts, planned, read, worker, fixture } = await start();
  const all = [];
  for (let round = 0; round < ROUNDS; round += 1) all.push(await planned(`s${round}`));
  await worker.close();
  const tenure = await fixture.worker("w");
  let claims = 0;
  for (const { run, planDigest } of all) {
    await approveRun(parts, run, { actor: "bea", planDigest });
    const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
    const [claim, discard] = await Promise.allSettled([
      claimTicket(parts, ticket, tenure, "digest", { writesState: true }),
      discardRun(parts, run, { actor: "eve" }),
    ]);
    const isClaimed = claim.status === "fulfilled" && claim.value !== undefined;
    claims += isClaimed ? 1 : 0;
    expect(isClaimed).toBe(discard.status === "rejected");
    const { phase } = await read(run);
    expect(phase).toBe(isClaimed ? Run_Phase.PHASE_APPROVED : Run_Phase.PHASE_DISCARDED);
  }
  expect(claims).toBeLessThanOrEqual(ROUNDS);
});

it("a plan whose apply a worker has claimed is not discarded", { timeout: 60_000 }, async () => {
  const { parts, planned, read, worker, fixture } = await start();
  const { run, planDigest } = await planned("one");
  await worker.close();
  await approveRun(parts, run, { actor: "bea", planDigest });
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  const claim = await claimTicket(parts, ticket, await fixture.worker("w"), "digest");
  expect(claim?.step).toBe("apply");
  await expect(discardRun(parts, run, { actor: "eve" })).rejects.toMatchObject({
    code: "illegal_transition",
  });
  expect((await read(run)).phase).toBe(Run_Phase.PHASE_APPROVED);
});

it("no rule approves a plan after an apply of which it is not known what it did", {
  timeout: 60_000,
}, async () => {
  const { parts, planned, worker } = await start();
  const { run, planDigest } = await planned("one");
  await worker.close();
  await transact(parts, async (tx) => {
    tx.update(await tx.get(RUN_KIND, runPlace(run)), { tool: "tofu", requiredApprovals: 2 });
    tx.update(await readStackTool(tx, run.stack), { attention: "the-run-before" });
  });
  const byRule = { actor: "vcs:infra", planDigest, isAutomatic: true };
  await expect(approveRun(parts, run, byRule)).rejects.toThrow("apply of the run the-run-before");
  await approveRun(parts, run, { actor: "bea", planDigest });
  await transact(parts, async (tx) => {
    tx.update(await readStackTool(tx, run.stack), { attention: "" });
  });
  await approveRun(parts, run, byRule);
});

it("a plan is not approved once the state is another one than it was made from", {
  timeout: 60_000,
}, async () => {
  const { parts, planned, worker, fixture, read } = await start();
  const { run, planDigest } = await planned("one");
  await worker.close();
  const { baseRevision } = await read(run);
  const at = async (revision: bigint) =>
    fixture.put(STACK_HEAD_KIND, stackPlace(run.stack), StackHead.create({ revision }));
  const approve = async () => approveRun(parts, run, { actor: "bea", planDigest });
  await at(baseRevision + 2n);
  await expect(approve()).rejects.toMatchObject({ code: "plan_stale" });
  expect((await read(run)).approvals).toEqual([]);
  await at(baseRevision);
  await approve();
  expect((await read(run)).phase).toBe(Run_Phase.PHASE_APPROVED);
});
