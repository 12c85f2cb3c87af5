import { silentLogger } from "@stackwright/base/logger";
import { Run_Mode, VcsConnection } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { beginApply } from "../queue/apply-steps.ts";
import { claimTicket, type RunClaim } from "../queue/claim.ts";
import { approveRun } from "../queue/decide.ts";
import { freeze } from "../queue/freeze.ts";
import { beginPlanning, recordPlan } from "../queue/plan-steps.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { PullRequestRecord } from "./pull-request-record.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";

const NOTHING = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };

/** The apply of a pull request, whose plan is being made. */
async function start() {
  const fixture = createRunFixture();
  const { parts, storage, clock } = fixture;
  const stack = await fixture.stack("one");
  const { account, project } = stack;
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY);
  const worker = await fixture.worker("w");
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  const claim = await claimTicket(parts, ticket, worker, parts.token());
  if (claim === undefined) throw new Error("the ticket is not free");
  await beginPlanning(parts, claim);
  const digest = await fixture.plan(stack, "plan");
  const open = {
    reference: { account, project, name: "infra" },
    connection: VcsConnection.create({ id: "connection", name: "infra" }),
    guard: (await fixture.worker("vcs")).guard,
    signal: new AbortController().signal,
  } as unknown as OpenConnection;
  const vcsParts = { ...parts, logger: silentLogger } as unknown as VcsParts;
  const record = new PullRequestRecord(vcsParts, open, "1");
  const stored = async () =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  return {
    clock,
    stored,
    phase: async () => phaseOf(await stored()),
    current: async () =>
      transact(parts, async (tx) => (await readQueue(tx, stack)).message.current),
    plan: async () => {
      const summary = { ...NOTHING, documentSha256: "", viewSha256: "" };
      await recordPlan(parts, claim, { digest, baseRevision: 0n, summary });
    },
    freezeStack: async () => freeze(parts, stack, { actor: "ann", reason: "holidays" }),
    claimApply: async () => claimTicket(parts, ticket, worker, parts.token()),
    beginsApply: async (given: RunClaim | undefined) => {
      if (given === undefined) throw new Error("the apply is not claimed");
      const held = await fixture.fence(stack, "w");
      await beginApply(parts, given, held?.tenure.epoch ?? 0n);
    },
    approve: async () => approveRun(parts, run, { actor: "ann", planDigest: digest }),
    cancel: async () =>
      record.cancel([{ stack: "one", stackId: stack.stack, run: run.run, problem: "" }]),
  };
}

it("cancels an apply whose plan is being made, so that it never waits for an approval", async () => {
  const { plan, phase, cancel, current } = await start();
  await cancel();
  await plan();
  expect([await phase(), await current()]).toEqual(["canceled", ""]);
});

it("asks an executor once to end", async () => {
  const { clock, stored, cancel } = await start();
  await cancel();
  clock.skip(60_000);
  await cancel();
  expect((await stored()).cancel).toMatchObject({ stage: 1 });
});

it("cancels what was approved, and waits for the end of a freeze", async () => {
  const { plan, approve, claimApply, freezeStack, phase, cancel, current } = await start();
  await plan();
  await freezeStack();
  await approve();
  expect(await claimApply()).toBeUndefined();
  await cancel();
  expect([await phase(), await current()]).toEqual(["canceled", ""]);
});

it("lets no worker begin what it has claimed already", async () => {
  const { plan, approve, claimApply, beginsApply, stored, cancel } = await start();
  await plan();
  await approve();
  const claim = await claimApply();
  await cancel();
  expect((await stored()).cancel).toMatchObject({ stage: 1 });
  await expect(beginsApply(claim)).rejects.toThrow("the run is canceled");
});

it("leaves what is being applied", async () => {
  const { plan, approve, claimApply, beginsApply, phase, stored, cancel } = await start();
  await plan();
  await approve();
  await beginsApply(await claimApply());
  await cancel();
  expect([await phase(), (await stored()).cancel]).toEqual(["applying", undefined]);
});
