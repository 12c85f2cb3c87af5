import { systemClock } from "@stackwright/base/clock";
import { STORED_RUN_PHASES } from "@stackwright/core";
import {
  NotificationDestination,
  NotificationSettings,
  PlanSet_Phase,
  Project,
  Project_Supersede,
  Run_Mode,
  StackHead,
} from "@stackwright/proto/stackwright";
import { DelegatingStorage } from "@stackwright/storage/testing";
import { describe, expect, it } from "vitest";
import { APPROVAL_GRACE_MS, DEFAULT_APPROVAL_MS } from "../domain/approval-time.ts";
import { notificationSettingsPlace } from "../domain/notification-places.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  RUN_KIND,
  type RunReference,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
  ticketPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { beginApply, endApply } from "../queue/apply-steps.ts";
import { cancelRun } from "../queue/cancel.ts";
import { claimTicket } from "../queue/claim.ts";
import { addRun } from "../queue/enqueue.ts";
import { overridePolicies } from "../queue/override-policies.ts";
import { beginPlanning, endWithoutPlan, recordPlan } from "../queue/plan-steps.ts";
import { phaseOf } from "../queue/run-row.ts";
import { listTickets, sweepQueues } from "../queue/sweep.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { expireRuns } from "../retention/expire-runs.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { advanceOpenSets } from "./advance-open-sets.ts";
import { advancePlanSet } from "./advance-plan-set.ts";
import { createPlanSet } from "./create-plan-set.ts";
import { approvePlanSet, cancelPlanSet, discardPlanSet } from "./decide-plan-set.ts";
import { notePlannedRead } from "./note-planned-read.ts";
import { placeOfSet, runOfMember } from "./plan-set-reference.ts";

const PROJECT = { account: "acme", project: "web" };
const SUMMARY = {
  create: 1,
  update: 0,
  replace: 0,
  delete: 0,
  import: 0,
  move: 0,
  forget: 0,
  documentSha256: "",
  viewSha256: "",
};
const { signal } = new AbortController();

/** A set of stacks whose runs were requested and not planned yet. */
async function start(names: readonly string[]) {
  const fixture = createRunFixture();
  const { storage, put } = fixture;
  let aheadMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const parts = { ...fixture.parts, clock };
  const worker = await fixture.worker("w");
  const members: Parameters<typeof createPlanSet>[1]["members"][number][] = [];
  for (const name of names) {
    members.push({ stack: await fixture.stack(name), name, configuration: CONFIGURATION });
  }
  const reference = { project: PROJECT, set: parts.token() };
  const mode = Run_Mode.MODE_APPLY;
  await createPlanSet(parts, { reference, members, mode, actor: "ann", message: "" });
  await advancePlanSet(parts, reference);
  const show = async () =>
    decodeRecord(
      SERVER_KINDS.planSet,
      await storage.read("strong", idOf(SERVER_KINDS.planSet, placeOfSet(reference))),
    );
  const runs = (await show()).members.map((member) => runOfMember(reference, member));
  const claim = async (run: RunReference) => {
    const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
    const made = await claimTicket(parts, ticket, worker, parts.token());
    if (made === undefined) throw new Error("the ticket is not free");
    return made;
  };
  const read = async (run: RunReference) => {
    const found = await storage.list("strong", RUN_KIND.type, runPlace(run).tenancy, "");
    return found.map((one) => decodeRecord(RUN_KIND, one)).find(({ id }) => id === run.run);
  };
  return {
    ...fixture,
    parts,
    reference,
    members,
    show,
    claim,
    pass: (ms: number): void => {
      aheadMs += ms;
    },
    runs: runs as [RunReference, RunReference],
    storePlan: fixture.plan,
    /** Plans a run, with changes or without. */
    plan: async (run: RunReference, changes = true) => {
      const made = await claim(run);
      await beginPlanning(parts, made);
      if (changes) {
        const digest = await fixture.plan(run.stack, run.run);
        await recordPlan(parts, made, { digest, baseRevision: 0n, summary: SUMMARY });
      } else await endWithoutPlan(parts, made, { phase: "no_changes", revision: 0n });
      await advancePlanSet(parts, reference);
    },
    read,
    phase: async (run: RunReference) => {
      const message = await read(run);
      return message && phaseOf(message);
    },
    settings: async (given: Partial<Project>) =>
      put(SERVER_KINDS.project, projectPlace(PROJECT), Project.create({ name: "web", ...given })),
  };
}

it("is approved by none where no credential may approve all of its plans", async () => {
  const { parts, reference, runs, plan, settings, show } = await start(["a", "b"]);
  await settings({ approvers: ["ben"] });
  await plan(runs[0]);
  await settings({ approvers: ["eve"] });
  await plan(runs[1]);
  const set = await show();
  expect(set.reason).toContain("request another set");
  const approved = approvePlanSet(parts, reference, { actor: "ann", digest: set.digest });
  await expect(approved).rejects.toMatchObject({ code: "run_ended" });
});

it("is not approved once the state of a stack is another one than its plan was made from: the others are not applied", async () => {
  const { parts, reference, runs, plan, show, put, phase } = await start(["a", "b"]);
  for (const run of runs) await plan(run);
  const at = async (revision: bigint) =>
    put(STACK_HEAD_KIND, stackPlace(runs[1].stack), StackHead.create({ revision }));
  const { digest } = await show();
  const approve = async () => approvePlanSet(parts, reference, { actor: "ben", digest });
  await at(1n);
  await expect(approve()).rejects.toMatchObject({
    code: "plan_stale",
    message: expect.stringContaining("the stack b") as string,
  });
  await advancePlanSet(parts, reference);
  expect(await phase(runs[0])).toBe("awaiting_approval");
  await at(0n);
  await approve();
  await advancePlanSet(parts, reference);
  expect(await phase(runs[0])).toBe("approved");
});

it("plans nothing anew once its plans were shown, also where a run of it is not kept any longer", async () => {
  const { parts, storage, reference, runs, plan, show, phase } = await start(["a", "b"]);
  await plan(runs[0], false);
  await plan(runs[1]);
  const later = systemClock.wallMs() + 1_000;
  expect((await expireRuns(storage, { perStack: 0 }, later, signal)).runs).toBe(1);
  await advancePlanSet(parts, reference);
  expect(await phase(runs[0])).toBeUndefined();
  await approvePlanSet(parts, reference, { actor: "ben", digest: (await show()).digest });
  await advancePlanSet(parts, reference);
  expect([await phase(runs[0]), await phase(runs[1])]).toEqual([undefined, "approved"]);
});

it("is not superseded by a run that is requested at the moment of its approval", async () => {
  const { parts, members, reference, runs, plan, settings, show, phase } = await start(["a", "b"]);
  await settings({ supersede: Project_Supersede.SUPERSEDE_UNAPPROVED });
  for (const run of runs) await plan(run);
  const { digest } = await show();
  const [, { stack, name }] = members as [unknown, (typeof members)[number]];
  let attempts = 0;
  await transact(parts, async (tx) => {
    attempts += 1;
    const given = { configuration: CONFIGURATION, mode: Run_Mode.MODE_APPLY, actor: "eve" };
    await addRun(tx, { ...given, reference: { stack, run: parts.token() }, stackName: name });
    // Everything was read, and nothing is written yet.
    if (attempts === 1) await approvePlanSet(parts, reference, { actor: "ben", digest });
  });
  expect([attempts, await phase(runs[1])]).toEqual([2, "awaiting_approval"]);
});

/** A set of two stacks of which one is being applied, and the other waits for that. */
async function startApplying() {
  const started = await start(["a", "b"]);
  const { parts, reference, runs, plan, claim, fence, show } = started;
  for (const run of runs) await plan(run);
  await approvePlanSet(parts, reference, { actor: "ben", digest: (await show()).digest });
  await advancePlanSet(parts, reference);
  const applied = await claim(runs[0]);
  const held = await fence(runs[0].stack, "w");
  if (held === undefined) throw new Error("the fence is not free");
  await beginApply(parts, applied, held.tenure.epoch);
  return { ...started, applied };
}

it("lets a run that began to be applied come to its end where another one of it is canceled", async () => {
  const { parts, reference, runs, show, phase, applied } = await startApplying();
  await cancelRun(parts, runs[1], { actor: "eve" });
  await advancePlanSet(parts, reference);
  expect([await phase(runs[0]), (await show()).phase]).toEqual([
    "applying",
    PlanSet_Phase.PHASE_APPLYING,
  ]);
  await endApply(parts, applied, { phase: "applied" });
  await advancePlanSet(parts, reference);
  expect(await show()).toMatchObject({ phase: PlanSet_Phase.PHASE_CANCELED, settled: true });
});

it("asks a run that is being applied to end once, however often the set is looked at", async () => {
  const { parts, reference, runs, read, pass } = await startApplying();
  await cancelPlanSet(parts, reference, { actor: "ben" });
  for (let looks = 0; looks < 3; looks += 1) {
    await advanceOpenSets(parts);
    pass(60_000);
  }
  expect((await read(runs[0]))?.cancel).toMatchObject({ stage: 1 });
});

it("leaves no ticket of a run that is canceled at the moment when the plan is there that it waits for", async () => {
  const { parts, storage, reference, runs, claim, phase, storePlan } = await start(["a", "b"]);
  const [a, b] = runs;
  const waiting = await claim(b);
  await beginPlanning(parts, waiting);
  expect(await notePlannedRead(parts, waiting, "a")).toEqual({ kind: "waits" });
  const failed = { phase: "failed", reason: "", reasonCode: "plan" } as const;
  await endWithoutPlan(parts, waiting, failed);
  const made = await claim(a);
  await beginPlanning(parts, made);
  const digest = await storePlan(a.stack, a.run);
  await recordPlan(parts, made, { digest, baseRevision: 0n, summary: SUMMARY });
  expect(await listTickets(parts)).toEqual([]);
  // Everything was read for the request, and nothing is written yet.
  let writes = 0;
  const between = new (class extends DelegatingStorage {
    override async batch(...given: Parameters<typeof storage.batch>) {
      if ((writes += 1) === 1) await advancePlanSet(parts, reference);
      return super.batch(...given);
    }
  })(storage);
  await cancelRun({ ...parts, storage: between }, b, { actor: "eve" });
  expect(writes).toBeGreaterThan(1);
  expect([await phase(b), await listTickets(parts)]).toEqual(["canceled", []]);
});

it("begins no apply once it has ended, also before its runs have followed it", async () => {
  const { parts, reference, runs, plan, claim, fence, show, phase } = await start(["a", "b"]);
  for (const run of runs) await plan(run);
  await approvePlanSet(parts, reference, { actor: "ben", digest: (await show()).digest });
  await advancePlanSet(parts, reference);
  const claimed = await claim(runs[0]);
  const held = await fence(runs[0].stack, "w");
  if (held === undefined) throw new Error("the fence is not free");
  await cancelPlanSet(parts, reference, { actor: "ben" });
  await expect(beginApply(parts, claimed, held.tenure.epoch)).rejects.toMatchObject({
    code: "illegal_transition",
  });
  expect(await phase(runs[0])).toBe("approved");
});

describe("the time for the approval of a set", () => {
  const HOUR_MS = 3_600_000;
  const EVENT = SERVER_KINDS.notificationEvent;

  it("begins with its last plan, and ends it as a whole a minute after it is over", async () => {
    const { parts, reference, runs, plan, pass, show, settings, phase, read } = await start([
      "a",
      "b",
    ]);
    await settings({ approvalWaitMs: BigInt(HOUR_MS) });
    await plan(runs[0]);
    pass(2 * HOUR_MS);
    await advanceOpenSets(parts);
    await sweepQueues(parts);
    expect((await show()).phase).toBe(PlanSet_Phase.PHASE_PLANNING);
    await plan(runs[1]);
    const { digest, approvalDeadlineMs } = await show();
    expect(Math.abs(Number(approvalDeadlineMs) - HOUR_MS - parts.clock.wallMs())).toBeLessThan(
      60_000,
    );
    pass(HOUR_MS);
    const approve = async () => approvePlanSet(parts, reference, { actor: "ben", digest });
    await expect(approve()).rejects.toMatchObject({ code: "approval_expired" });
    pass(APPROVAL_GRACE_MS);
    // No request ends it, and no server whose clock is wrong.
    await advancePlanSet(parts, reference);
    const standing = async () => ({ skewMs: 0, isDisputed: false, mayReact: false });
    await advanceOpenSets({ ...parts, serverClock: { standing } });
    expect((await show()).phase).toBe(PlanSet_Phase.PHASE_AWAITING_APPROVAL);
    await advanceOpenSets(parts);
    expect(await show()).toMatchObject({
      phase: PlanSet_Phase.PHASE_DISCARDED,
      reasonCode: "approval_expired",
      settled: true,
    });
    expect([await phase(runs[0]), await phase(runs[1])]).toEqual(["discarded", "discarded"]);
    expect((await read(runs[0]))?.reasonCode).toBe("approval_expired");
    await expect(approve()).rejects.toMatchObject({ code: "approval_expired" });
    for (const end of [discardPlanSet, cancelPlanSet]) {
      await expect(end(parts, reference, { actor: "ben" })).rejects.toMatchObject({
        code: "run_ended",
      });
    }
    await sweepQueues(parts);
    expect(await listTickets(parts)).toEqual([]);
  });

  it("is noted for destinations, once for each of its runs", async () => {
    const { parts, storage, runs, plan, pass, put } = await start(["a", "b"]);
    const destination = NotificationDestination.create({
      id: "d",
      events: ["run.approval_expired"],
    });
    await put(
      SERVER_KINDS.notificationSettings,
      notificationSettingsPlace(PROJECT),
      NotificationSettings.create({ destinations: [destination] }),
    );
    for (const run of runs) await plan(run);
    pass(DEFAULT_APPROVAL_MS + APPROVAL_GRACE_MS);
    await advanceOpenSets(parts);
    await advanceOpenSets(parts);
    const { tenancy } = runPlace(runs[0]);
    const noted = await storage.list("strong", EVENT.type, tenancy, "");
    expect(noted.map((one) => decodeRecord(EVENT, one).run).toSorted()).toEqual(
      runs.map(({ run }) => run).toSorted(),
    );
  });

  it("runs for what a policy forbids in it, too", async () => {
    const { parts, runs, plan, pass, show, read, put, phase } = await start(["a", "b"]);
    await plan(runs[0]);
    await plan(runs[1]);
    const run = await read(runs[1]);
    if (run === undefined) throw new Error("there is no run");
    const failed = { ...run, phase: STORED_RUN_PHASES.policy_failed };
    await put(RUN_KIND, runPlace(runs[1]), failed);
    const set = await show();
    const planning = { ...set, phase: PlanSet_Phase.PHASE_PLANNING, approvalDeadlineMs: 0n };
    await put(SERVER_KINDS.planSet, placeOfSet({ project: PROJECT, set: set.id }), planning);
    await advanceOpenSets(parts);
    pass(DEFAULT_APPROVAL_MS);
    const requireRole = (): void => undefined;
    const override = { actor: "ben", reason: "", planDigest: run.planDigest, requireRole };
    await expect(overridePolicies(parts, runs[1], override)).rejects.toMatchObject({
      code: "approval_expired",
    });
    pass(APPROVAL_GRACE_MS);
    await advanceOpenSets(parts);
    expect((await show()).reasonCode).toBe("approval_expired");
    expect([await phase(runs[0]), await phase(runs[1])]).toEqual(["discarded", "discarded"]);
  });

  it("has to be approved again by whose approval no longer counts", async () => {
    const { parts, reference, runs, plan, pass, show, settings } = await start(["a", "b"]);
    await settings({ requiredApprovals: 2, approvalValidMs: BigInt(HOUR_MS) });
    for (const run of runs) await plan(run);
    const { digest } = await show();
    const approve = async (actor: string) => approvePlanSet(parts, reference, { actor, digest });
    await approve("ben");
    pass(HOUR_MS);
    await approve("eve");
    expect(await show()).toMatchObject({
      phase: PlanSet_Phase.PHASE_AWAITING_APPROVAL,
      approvals: [{ actor: "ben" }, { actor: "eve" }],
    });
    await approve("ben");
    expect(await show()).toMatchObject({
      phase: PlanSet_Phase.PHASE_APPLYING,
      approvals: [{ actor: "eve" }, { actor: "ben" }],
    });
  });

  it("is over where no apply of it began in time: none is applied", async () => {
    const { parts, reference, runs, plan, pass, show, phase, settings, claim } = await start([
      "a",
      "b",
    ]);
    await settings({ approvalValidMs: BigInt(HOUR_MS) });
    for (const run of runs) await plan(run);
    await approvePlanSet(parts, reference, { actor: "ben", digest: (await show()).digest });
    await advancePlanSet(parts, reference);
    expect(await phase(runs[0])).toBe("approved");
    pass(HOUR_MS);
    await expect(claim(runs[0])).rejects.toThrow("not free");
    pass(APPROVAL_GRACE_MS);
    await sweepQueues(parts);
    await advanceOpenSets(parts);
    expect([await phase(runs[0]), await phase(runs[1])]).toEqual(["discarded", "discarded"]);
    expect(await show()).toMatchObject({
      phase: PlanSet_Phase.PHASE_DISCARDED,
      reasonCode: "approval_expired",
    });
    expect(await listTickets(parts)).toEqual([]);
  });

  it("ends nothing once an apply of it began: those behind it follow", async () => {
    const { parts, reference, runs, pass, show, phase, applied, settings } = await startApplying();
    await settings({ approvalValidMs: BigInt(HOUR_MS) });
    pass(2 * DEFAULT_APPROVAL_MS);
    await sweepQueues(parts);
    await advanceOpenSets(parts);
    expect([await phase(runs[0]), await phase(runs[1])]).toEqual(["applying", "awaiting_approval"]);
    await endApply(parts, applied, { phase: "applied" });
    await advancePlanSet(parts, reference);
    expect(await phase(runs[1])).toBe("approved");
    pass(2 * DEFAULT_APPROVAL_MS);
    await sweepQueues(parts);
    await advanceOpenSets(parts);
    expect([await phase(runs[1]), (await show()).phase]).toEqual([
      "approved",
      PlanSet_Phase.PHASE_APPLYING,
    ]);
  });
});
