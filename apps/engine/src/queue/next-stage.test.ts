import { MAX_STAGES } from "@stackwright/core";
import { Project, Project_AutoApply, type Run, Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { beginApply, endApply } from "./apply-steps.ts";
import { cancelRun } from "./cancel.ts";
import { claimTicket } from "./claim.ts";
import { enqueueRun } from "./enqueue.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { phaseOf } from "./run-row.ts";
import { listTickets } from "./sweep.ts";
import { idOf } from "./transaction.ts";

const counts = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };
const summary = { ...counts, documentSha256: "", viewSha256: "" };

interface Begun {
  /** What the run is requested with. @default nothing, so that the project decides */
  readonly autoApply?: boolean;
  /** Whether the project applies plans of which the request says nothing. @default false */
  readonly appliesAll?: boolean;
  /** @default the first one */
  readonly stage?: number;
}

/** A staged run that is being applied, whose plan left something. */
async function start(
  { autoApply, appliesAll = false, stage: number = 1 }: Begun = { autoApply: true },
) {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  if (appliesAll) {
    const rules = Project.create({ autoApply: Project_AutoApply.AUTO_APPLY_ALWAYS });
    await fixture.put(SERVER_KINDS.project, projectPlace(stack), rules);
  }
  const run: RunReference = { stack, run: parts.token() };
  await enqueueRun(parts, {
    reference: run,
    stackName: "one",
    configuration: CONFIGURATION,
    mode: Run_Mode.MODE_APPLY,
    actor: "ann",
    message: "why",
    ...(autoApply !== undefined && { autoApply }),
    targets: ["t.a"],
    replace: ["t.a", "t.b"],
    stage: { number },
  });
  const worker = await fixture.worker("w");
  const claim = async () => {
    const [ticket] = await listTickets(parts);
    const made = ticket && (await claimTicket(parts, ticket.id, worker, parts.token()));
    if (made === undefined) throw new Error("nothing to claim");
    return made;
  };
  const planning = await claim();
  await beginPlanning(parts, planning);
  const digest = await fixture.plan(stack, "plan");
  const left = { parts: ["t.b"], replace: ["t.b"] };
  await recordPlan(parts, planning, { digest, baseRevision: 0n, summary, left });
  const applying = await claim();
  const held = await fixture.fence(stack, "executor");
  await beginApply(parts, applying, held?.tenure.epoch ?? 0n);
  const runs = async (): Promise<readonly Run[]> => {
    const { tenancy } = runPlace(run);
    const all = await storage.list("strong", RUN_KIND.type, tenancy, `${stack.stack}.`);
    return all
      .map((one) => decodeRecord(RUN_KIND, one))
      .toSorted((a, b) => Number(a.number - b.number));
  };
  const stored = async () =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  return { ...fixture, stack, run, applying, runs, stored };
}

it("the run of the next stage is requested with the end of the one before it, once", async () => {
  const { parts, applying, runs, stored, run } = await start();
  await endApply(parts, applying, { phase: "applied", revision: 1n, stackName: "one" });
  const [, next, ...more] = await runs();
  expect(more).toEqual([]);
  expect(next).toMatchObject({
    actor: "ann",
    cause: `stage:${run.run}`,
    message: "why",
    autoApply: true,
    targets: ["t.a"],
    replace: ["t.b"],
    stage: { number: 2, previous: run.run, before: ["t.b"], left: [], next: "" },
  });
  expect((await stored()).stage?.next).toBe(next?.id);
  expect((await listTickets(parts)).map(({ ticket }) => ticket.run)).toEqual([next?.id]);
  // A worker that ends it again is refused, and requests nothing.
  const again = endApply(parts, applying, { phase: "applied", stackName: "one" });
  await expect(again).rejects.toMatchObject({ code: "claim_lost" });
  expect(await runs()).toHaveLength(2);
});

it.each(["partially_applied", "failed", "canceled"] as const)(
  "a stage that is %s ends the stages",
  async (phase) => {
    const { parts, applying, runs, stored } = await start();
    await endApply(parts, applying, { phase, stackName: "one" });
    expect(await runs()).toHaveLength(1);
    expect((await stored()).stage?.next).toBe("");
  },
);

it("a stage that was applied before its cancel took effect ends the stages", async () => {
  const { parts, applying, runs, stored, run } = await start();
  expect(await cancelRun(parts, run, { actor: "bob" })).toBe("requested");
  await endApply(parts, applying, { phase: "applied", revision: 1n, stackName: "one" });
  expect(await runs()).toHaveLength(1);
  expect(phaseOf(await stored())).toBe("applied");
  expect((await stored()).reason).toContain("canceled by bob");
});

it("the last of the stages that there may be has no successor, whatever an executor says", async () => {
  const { parts, applying, runs, stored } = await start({
    autoApply: true,
    stage: MAX_STAGES,
  });
  await endApply(parts, applying, { phase: "applied", revision: 1n, stackName: "one" });
  expect(await runs()).toHaveLength(1);
  expect((await stored()).reason).toContain("stages are limited");
});

it("waits behind the runs that were requested meanwhile, and needs the approval that the project asks for", async () => {
  const { parts, applying, runs, stack, enqueue, put } = await start();
  const other = await enqueue(stack, "one", Run_Mode.MODE_APPLY);
  await put(SERVER_KINDS.project, projectPlace(stack), Project.create({ requiredApprovals: 2 }));
  await endApply(parts, applying, { phase: "applied", revision: 1n, stackName: "one" });
  const [, , next] = await runs();
  expect(next).toMatchObject({ autoApply: false, stage: { number: 2 } });
  expect((await listTickets(parts)).map(({ ticket }) => ticket.run)).toEqual([other.run]);
});

it.each<[string, Begun]>([
  ["a run that is applied as it was requested", { autoApply: true }],
  ["a project that applies all", { appliesAll: true }],
])("is not applied without an approval behind another run: %s", async (_, begun) => {
  const { parts, applying, runs, stack, enqueue } = await start(begun);
  // What it would make again.
  const destroying = await enqueue(stack, "one", Run_Mode.MODE_DESTROY);
  await endApply(parts, applying, { phase: "applied", revision: 1n, stackName: "one" });
  const [, , next] = await runs();
  expect(next).toMatchObject({ autoApply: false, autoApplyRequested: true, stage: { number: 2 } });
  expect((await listTickets(parts)).map(({ ticket }) => ticket.run)).toEqual([destroying.run]);
});

it("an applied stage whose successor cannot be requested says why", async () => {
  const { parts, applying, runs, stored, stack, storage } = await start();
  const id = idOf(SERVER_KINDS.configuration, memberPlace(stack, CONFIGURATION));
  const version = await storage.read("strong", id);
  await storage.deleteCAS(version.id, version.version);
  await endApply(parts, applying, { phase: "applied", revision: 1n, stackName: "one" });
  expect(await runs()).toHaveLength(1);
  expect(phaseOf(await stored())).toBe("applied");
  expect((await stored()).reason).toContain("the next stage was not requested");
});
