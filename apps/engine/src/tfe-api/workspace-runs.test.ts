import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import {
  PolicyResult,
  Run,
  Run_Mode,
  Run_Phase,
  RunLogSegment,
} from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { claimTicket } from "../queue/claim.ts";
import { beginPlanning } from "../queue/plan-steps.ts";
import { listTickets } from "../queue/sweep.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { workspaceRuns } from "./workspace-runs.ts";

const ADMIN = {
  account: "acme",
  actor: "ann",
  credential: "token-1",
  isOperator: true,
  isAdmin: true,
  projects: [],
};

function runsOf(
  { parts, storage }: ReturnType<typeof createRunFixture>,
  reference: NamedStack["reference"],
) {
  const served = {
    ...parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
  };
  return workspaceRuns({
    ...served,
    audited: () => served,
    stackOf: async () => ({ name: "one", reference }) as NamedStack,
  });
}

it("an override of policies is done, although others have to approve the plan", async () => {
  const fixture = createRunFixture();
  const { storage, put } = fixture;
  const stack = await fixture.stack("one");
  const reference = { stack, run: "01J9ZC0000000000000000RUN1" };
  const run = Run.create({
    id: reference.run,
    stack: stack.stack,
    phase: Run_Phase.PHASE_POLICY_FAILED,
    mode: Run_Mode.MODE_APPLY,
    planDigest: "d".repeat(64),
    autoApply: true,
    approvers: ["cyd"],
    requiredApprovals: 1,
  });
  await put(RUN_KIND, runPlace(reference), run);
  await put(SERVER_KINDS.policyResult, runPlace(reference), PolicyResult.create({}));
  const runs = runsOf(fixture, stack);
  const shown = await runs.get(ADMIN, stack.stack, run.id);
  if (shown === undefined) throw new Error("no run");
  await runs.overridePolicies(ADMIN, shown);
  const stored = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  expect(stored && decodeRecord(RUN_KIND, stored)).toMatchObject({
    phase: Run_Phase.PHASE_AWAITING_APPROVAL,
    approvals: [],
  });
});

it("ends a run at once for admins; for others once it had its time to stop", async () => {
  const fixture = createRunFixture();
  const { parts } = fixture;
  const reference = await fixture.stack("one");
  const { run: id } = await fixture.enqueue(reference, "one", Run_Mode.MODE_APPLY);
  const worker = await fixture.worker("w");
  const [ticket] = await listTickets(parts);
  const claim = ticket && (await claimTicket(parts, ticket.id, worker, parts.token()));
  if (claim === undefined) throw new Error("nothing to claim");
  await beginPlanning(parts, claim);
  const runs = runsOf(fixture, reference);
  const admin = ADMIN;
  const other = { ...admin, actor: "ben", isAdmin: false };
  const workspace = reference.stack;
  const run = await runs.get(other, workspace, id);
  if (run === undefined) throw new Error("no run");
  await runs.cancel(other, run, { force: false });
  await expect(runs.cancel(other, run, { force: true })).rejects.toMatchObject({
    code: "conflict",
  });
  await runs.cancel(admin, run, { force: true });
});

it("is applied until a command that has read its plan has read why the apply failed", async () => {
  const fixture = createRunFixture();
  const { put } = fixture;
  const stack = await fixture.stack("one");
  const reference = { stack, run: "01J9ZC0000000000000000RUN1" };
  const { run: id } = reference;
  const store = async (phase: Run_Phase): Promise<void> =>
    put(
      RUN_KIND,
      runPlace(reference),
      Run.create({
        id,
        stack: stack.stack,
        phase,
        mode: Run_Mode.MODE_APPLY,
        planDigest: "d".repeat(64),
        history: [{ to: Run_Phase.PHASE_APPROVED }],
      }),
    );
  const event = (seq: number, to: string): Promise<void> =>
    put(
      SERVER_KINDS.segment,
      segmentPlace(reference, seq),
      RunLogSegment.create({
        first: BigInt(seq),
        events: [JSON.stringify({ seq, at: 0, type: "phase-change", to })],
      }),
    );
  const runs = runsOf(fixture, stack);
  const read = async (name: "plan" | "apply"): Promise<void> => {
    const log = { workspace: stack.stack, run: id, name, structured: true, offset: 0 };
    const { text } = await runs.log(ADMIN, log);
    for (;;) if ((await text.next()).done === true) return;
  };
  const phase = async () => (await runs.get(ADMIN, stack.stack, id))?.phase;
  await store(Run_Phase.PHASE_APPLYING);
  await event(1, "approved");
  await read("plan");
  await store(Run_Phase.PHASE_PARTIALLY_APPLIED);
  await event(2, "partially_applied");
  expect(await phase()).toBe("applying");
  await read("apply");
  expect(await phase()).toBe("partially_applied");
});

it("keeps the log of a plan open for a command that has read it before its warnings and its end were written", async () => {
  const fixture = createRunFixture();
  const { put, clock } = fixture;
  const stack = await fixture.stack("one");
  const reference = { stack, run: "01J9ZC0000000000000000RUN1" };
  const { run: id } = reference;
  const store = async (phase: Run_Phase): Promise<void> =>
    put(
      RUN_KIND,
      runPlace(reference),
      Run.create({
        id,
        stack: stack.stack,
        phase,
        mode: Run_Mode.MODE_APPLY,
        updatedAtMs: BigInt(clock.wallMs()),
      }),
    );
  const append = async (seq: number, ...events: readonly object[]): Promise<void> => {
    const lines = events.map((event, at) => JSON.stringify({ seq: seq + at, at: 0, ...event }));
    const segment = RunLogSegment.create({ first: BigInt(seq), events: lines });
    await put(SERVER_KINDS.segment, segmentPlace(reference, seq), segment);
  };
  const runs = runsOf(fixture, stack);
  const read = async (): Promise<string> => {
    const log = { workspace: stack.stack, run: id, structured: true, offset: 0 };
    const { text } = await runs.log(ADMIN, { ...log, name: "plan" });
    let all = "";
    for (;;) {
      const step = await text.next();
      if (step.done === true) return all;
      all += step.value;
    }
  };
  const open = async () => (await runs.get(ADMIN, stack.stack, id))?.openLogs;
  await store(Run_Phase.PHASE_PLANNING);
  await append(1, { type: "phase-change", to: "planning" });
  expect(await open()).toEqual([]);
  expect(await read()).not.toContain("targeting");
  // The plan ends between the read of its log and the question whether it is over.
  const summary = "Resource targeting is in effect";
  const warning = { type: "diagnostic", severity: "warning", summary, detail: "" };
  await append(2, warning, { type: "phase-change", to: "no_changes" });
  await store(Run_Phase.PHASE_NO_CHANGES);
  expect(await open()).toEqual(["plan"]);
  expect(await read()).toContain(summary);
  expect(await open()).toEqual([]);
  // A log that lost its end keeps no command for longer.
  await append(2, warning);
  await read();
  expect(await open()).toEqual(["plan"]);
  await clock.advance(5_000);
  await read();
  expect(await open()).toEqual([]);
});
