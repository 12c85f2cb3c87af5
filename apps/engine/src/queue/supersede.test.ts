import { storedRunPhase } from "@stackwright/core";
import { Project, Project_Supersede, Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { claimTicket } from "./claim.ts";
import { approveRun } from "./decide.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { listTickets } from "./sweep.ts";
import { idOf } from "./transaction.ts";

const { SUPERSEDE_UNSPECIFIED, SUPERSEDE_UNAPPROVED } = Project_Supersede;
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

async function start(supersede: Project_Supersede) {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const settle = async (policy: Project_Supersede) =>
    fixture.put(SERVER_KINDS.project, projectPlace(stack), Project.create({ supersede: policy }));
  await settle(supersede);
  const request = async () => fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY);
  const read = async (run: RunReference) =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  const queue = async () => {
    const found = await storage.read("strong", idOf(SERVER_KINDS.queue, stackPlace(stack)));
    const { current, pending } = decodeRecord(SERVER_KINDS.queue, found);
    return [current, ...pending];
  };
  const tenure = await fixture.worker("w");
  /** Claims the step of a run, as a worker does. */
  const claim = async ({ run }: RunReference) => {
    const ticket = (await listTickets(parts)).find((one) => one.ticket.run === run);
    const made = ticket && (await claimTicket(parts, ticket.id, tenure, "token"));
    if (made === undefined) throw new Error("nothing to claim");
    return made;
  };
  const plan = async (run: RunReference): Promise<string> => {
    const claimed = await claim(run);
    await beginPlanning(parts, claimed);
    const digest = await fixture.plan(stack, run.run);
    await recordPlan(parts, claimed, { digest, baseRevision: 0n, summary: SUMMARY });
    return digest;
  };
  return {
    parts,
    settle,
    request,
    claim,
    plan,
    queue,
    phase: async (run: RunReference) => storedRunPhase((await read(run)).phase),
  };
}

it("ends a plan that waits for its approval, and leaves the stack to the newer run", async () => {
  const { request, plan, phase, queue, claim } = await start(SUPERSEDE_UNAPPROVED);
  const [first] = [await request()];
  await plan(first);
  const second = await request();
  expect([await phase(first), await phase(second)]).toEqual(["superseded", "queued"]);
  expect(await queue()).toEqual([second.run]);
  await claim(second);
});

it.each(["preparing", "approved", "approved, with a worker"])(
  "ends no run that is %s: the newer one waits",
  async (at) => {
    const { parts, request, claim, plan, phase, queue } = await start(SUPERSEDE_UNAPPROVED);
    const first = await request();
    if (at === "preparing") await claim(first);
    else await approveRun(parts, first, { actor: "bea", planDigest: await plan(first) });
    if (at.endsWith("worker")) await claim(first);
    const waits = await request();
    const newest = await request();
    expect(await phase(first)).toBe(at.split(",")[0]);
    expect([await phase(waits), await phase(newest)]).toEqual(["superseded", "queued"]);
    expect(await queue()).toEqual([first.run, newest.run]);
  },
);

it("keeps the one that has the stack as long as older ones than the newest wait behind it", async () => {
  const { settle, request, plan, phase, queue } = await start(SUPERSEDE_UNSPECIFIED);
  const first = await request();
  await plan(first);
  const waiting = [];
  for (let count = 0; count < 8; count += 1) waiting.push((await request()).run);
  await settle(SUPERSEDE_UNAPPROVED);
  // One request ends a few; it would leave the stack to none of those that are left.
  const next = await request();
  expect(await phase(first)).toBe("awaiting_approval");
  expect(await queue()).toEqual([first.run, ...waiting.slice(5), next.run]);
  const newest = await request();
  expect(await phase(first)).toBe("superseded");
  expect(await queue()).toEqual([newest.run]);
});
