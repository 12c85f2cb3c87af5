import { silentLogger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import {
  Project,
  Run_Mode,
  VcsCommand,
  VcsConnection,
  VcsConnection_Apply,
  VcsConnection_Kind,
  VcsPullRequest_State,
} from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { APPROVAL_GRACE_MS } from "../domain/approval-time.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { claimTicket } from "../queue/claim.ts";
import { beginPlanning, recordPlan } from "../queue/plan-steps.ts";
import { sweepQueues } from "../queue/sweep.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { plansDigest } from "./plans-digest.ts";
import type { PullRequestFacts } from "./provider/vcs-provider.ts";
import { approveApplies, carryOutCommands } from "./pull-request-applies.ts";
import { PullRequestRecord } from "./pull-request-record.ts";
import { reportOf } from "./pull-request-report.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";

const HOUR_MS = 3_600_000;
/** From the request of the plans until they are made. */
const PLANNING_MS = 60_000;
const HEAD = "a".repeat(40);
const FACTS: PullRequestFacts = {
  title: "change",
  author: "ann",
  base: "main",
  head: HEAD,
  reference: "refs/pull/1/head",
  branch: "refs/heads/change",
  fork: false,
  state: "open",
};

/** An open pull request with the plan of one stack, whose apply was asked for and waits for its approval. */
async function start(settings: Partial<Project>, planningMs = 0) {
  const fixture = createRunFixture();
  const { clock, storage } = fixture;
  const stack = await fixture.stack("one");
  const { account, project } = stack;
  const place = projectPlace({ account, project });
  await fixture.put(SERVER_KINDS.project, place, Project.create({ name: project, ...settings }));
  const worker = await fixture.worker("w");
  const digest = await fixture.plan(stack, "plan");
  const plannedAtMs = BigInt(clock.wallMs());
  clock.skip(planningMs);
  const planned = async (mode: Run_Mode): Promise<RunReference> => {
    const run = await fixture.enqueue(stack, "one", mode, false);
    const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
    const claim = await claimTicket(fixture.parts, ticket, worker, fixture.parts.token());
    if (claim === undefined) throw new Error("the ticket is not free");
    await beginPlanning(fixture.parts, claim);
    await recordPlan(fixture.parts, claim, { digest, baseRevision: 0n, summary: SUMMARY });
    return run;
  };
  const [plan, apply] = [
    await planned(Run_Mode.MODE_PLAN_ONLY),
    await planned(Run_Mode.MODE_APPLY),
  ];
  const record = new PullRequestRecord(partsOf(fixture.parts), await openOf(fixture, stack), "1");
  const member = ({ run }: RunReference) => ({
    stack: "one",
    stackId: stack.stack,
    run,
    problem: "",
  });
  const atMs = BigInt(clock.wallMs());
  await record.save((stored) => ({
    ...stored,
    state: VcsPullRequest_State.STATE_OPEN,
    head: HEAD,
    tree: "tree",
    plans: [member(plan)],
    applies: [member(apply)],
    applyRequested: true,
    applyRequestedBy: "ben",
    applyRequestedAtMs: atMs,
    plannedAtMs,
  }));
  const pull = async () => {
    const found = await record.read();
    if (found === undefined) throw new Error("there is no pull request");
    return found;
  };
  let comments = 0;
  return {
    record,
    pull,
    run: async () =>
      decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(apply)))),
    later: (ms: number) => clock.skip(ms),
    sweep: async () => sweepQueues(fixture.parts),
    look: async () => approveApplies(record),
    close: async () =>
      record.save((stored) => ({ ...stored, state: VcsPullRequest_State.STATE_CLOSED })),
    comment: async (agoMs = 0) => {
      const now = await pull();
      const { reference } = record.open;
      comments += 1;
      const command = VcsCommand.create({
        user: "ben",
        verb: "apply",
        delivery: `delivery-${comments}`,
        head: HEAD,
        plansSha256: await transact(record.parts, async (tx) => plansDigest(tx, reference, now)),
        writtenAtMs: BigInt(clock.wallMs() - agoMs),
      });
      await carryOutCommands(record, FACTS, [command]);
      await approveApplies(record);
    },
    report: async () => {
      const [plans, applies] = await record.shown();
      return (await reportOf(record.parts, record.open, await pull(), plans, applies)).text;
    },
  };
}

const SUMMARY = {
  create: 1,
  update: 0,
  replace: 0,
  delete: 0,
  import: 0,
  move: 0,
  forget: 0,
  documentSha256: "d".repeat(64),
  viewSha256: "",
};

/** Both plans have one document. */
function partsOf(parts: object): VcsParts {
  const blobs = {
    async *read() {
      yield Buffer.from("{}");
    },
  };
  return { ...parts, blobs, logger: silentLogger } as unknown as VcsParts;
}

async function openOf(
  { worker }: ReturnType<typeof createRunFixture>,
  { account, project }: StackReference,
): Promise<OpenConnection> {
  const connection = VcsConnection.create({
    id: "connection",
    name: "infra",
    kind: VcsConnection_Kind.KIND_GITEA,
    repository: "acme/infra",
    branch: "main",
    apply: VcsConnection_Apply.APPLY_ON_COMMENT,
  });
  return {
    reference: { account, project, name: "infra" },
    connection,
    provider: { mayWrite: async () => true, approvers: async () => [] },
    markerOf: () => "marker",
    guard: (await worker("vcs")).guard,
    signal: new AbortController().signal,
  } as unknown as OpenConnection;
}

it("renews an approval that no longer counts once a further comment asks for it", async () => {
  const { pull, run, later, look, comment } = await start({
    requiredApprovals: 2,
    approvalValidMs: BigInt(HOUR_MS),
  });
  await look();
  const [first] = (await run()).approvals;
  expect(first).toMatchObject({ actor: "vcs:infra" });
  later(HOUR_MS);
  await look();
  expect((await run()).approvals).toEqual([first]);
  expect((await pull()).applies[0]?.problem).toMatch(
    /no longer counts.*runs approve \d+ --stack web\/one; "stackwright apply" approves it again/,
  );
  await comment();
  expect((await run()).approvals).toMatchObject([
    { actor: "vcs:infra", atMs: (first?.atMs ?? 0n) + BigInt(HOUR_MS) },
  ]);
  expect((await pull()).applies[0]?.problem).toMatch(/^further approvals are needed/);
});

it("says to plan again where the plan waited for too long, and why the run has ended", async () => {
  const { pull, later, sweep, look, report } = await start({ approvalWaitMs: BigInt(HOUR_MS) });
  later(HOUR_MS);
  await look();
  const [apply] = (await pull()).applies;
  expect(apply?.problem).toContain('write "stackwright plan"');
  expect(apply?.problem).not.toContain("runs approve");
  expect(await report()).toContain(apply?.problem);
  later(APPROVAL_GRACE_MS);
  await sweep();
  expect(await report()).toContain("the plan was not approved in time");
  expect(await report()).not.toContain(apply?.problem);
});

it("refuses a comment whose applies have all ended", async () => {
  const { pull, later, sweep, comment } = await start({ approvalWaitMs: BigInt(HOUR_MS) });
  later(HOUR_MS + APPROVAL_GRACE_MS);
  await sweep();
  await comment();
  const { note, handled } = await pull();
  expect(note).toContain("Nothing was applied: the runs of the apply have ended.");
  expect(note).toContain("`stackwright plan`");
  expect(handled).toEqual(["delivery-1"]);
});

it("notes a comment about applies that are there as carried out", async () => {
  const { pull, comment } = await start({});
  await comment();
  expect(await pull()).toMatchObject({ handled: ["delivery-1"] });
});

it("approves nothing of a pull request that was closed", async () => {
  const { run, close, look } = await start({});
  await close();
  await look();
  expect((await run()).approvals).toEqual([]);
});

it("refuses a comment that was written before the last plan was made, and comes late", async () => {
  const { pull, later, comment } = await start({}, PLANNING_MS);
  later(HOUR_MS);
  await comment(HOUR_MS + PLANNING_MS / 2);
  expect((await pull()).note).toContain("were not there when the comment was written");
  await comment(HOUR_MS - 1_000);
  expect((await pull()).note).toContain("Apply requested by `ben`");
});
