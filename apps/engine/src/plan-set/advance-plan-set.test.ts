import { systemClock } from "@stackwright/base/clock";
import { Project, Project_Supersede, Run_Mode } from "@stackwright/proto/stackwright";
import { WILDCARD } from "@stackwright/storage";
import { DelegatingStorage } from "@stackwright/storage/testing";
import { expect, it } from "vitest";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { phaseOf } from "../queue/run-row.ts";
import { listTickets, sweepQueues } from "../queue/sweep.ts";
import { expirePlanSets } from "../retention/expire-plan-sets.ts";
import { expireRuns } from "../retention/expire-runs.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { advanceOpenSets } from "./advance-open-sets.ts";
import { advancePlanSet } from "./advance-plan-set.ts";
import { createPlanSet } from "./create-plan-set.ts";
import { cancelPlanSet } from "./decide-plan-set.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const PROJECT = { account: "acme", project: "web" };
const DAY_MS = 24 * 3_600_000;
const { signal } = new AbortController();

async function start(names: readonly string[]) {
  const fixture = createRunFixture();
  const { storage } = fixture;
  // Two writers at once pause between their attempts.
  const parts = { ...fixture.parts, clock: systemClock };
  const members: Parameters<typeof createPlanSet>[1]["members"][number][] = [];
  for (const name of names) {
    members.push({ stack: await fixture.stack(name), name, configuration: CONFIGURATION });
  }
  const create = async (of = members) => {
    const reference = { project: PROJECT, set: parts.token() };
    await createPlanSet(parts, {
      reference,
      members: of,
      mode: Run_Mode.MODE_APPLY,
      actor: "ann",
      message: "",
    });
    return reference;
  };
  const runs = async () =>
    (await storage.list("strong", RUN_KIND.type, ANYWHERE, "")).map((one) =>
      decodeRecord(RUN_KIND, one),
    );
  const sets = async () =>
    (await storage.list("strong", SERVER_KINDS.planSet.type, ANYWHERE, "")).map((one) =>
      decodeRecord(SERVER_KINDS.planSet, one),
    );
  return { ...fixture, parts, members, create, runs, sets };
}

it("the sweep requests the runs of a set whose server died, each once", async () => {
  const { parts, create, runs, sets } = await start(["a", "b", "c"]);
  const reference = await create();
  expect(await runs()).toEqual([]);
  // Two servers at once.
  await Promise.all([advanceOpenSets(parts), advanceOpenSets(parts)]);
  await advancePlanSet(parts, reference);
  const made = await runs();
  expect(made.map(({ planSet }) => planSet)).toEqual([1, 2, 3].map(() => reference.set));
  const [set] = await sets();
  expect(made.map(({ id }) => id).toSorted()).toEqual(
    set?.members.map(({ run }) => run).toSorted(),
  );
  expect(await listTickets(parts)).toHaveLength(3);
  expect(await sweepQueues(parts)).toBe(0);
});

it("two servers that request the same run at once make one, also where it would end older ones", async () => {
  const { parts, members, storage, put, create, enqueue, runs } = await start(["a"]);
  const supersede = Project_Supersede.SUPERSEDE_PENDING;
  await put(
    SERVER_KINDS.project,
    projectPlace(PROJECT),
    Project.create({ name: "web", supersede }),
  );
  const [a] = members;
  if (a === undefined) throw new Error("no stack");
  await enqueue(a.stack, "a", Run_Mode.MODE_APPLY);
  const reference = await create();
  // The other server is done between two reads of this one.
  let reads = 0;
  const between = new (class extends DelegatingStorage {
    override async read(...given: Parameters<typeof storage.read>) {
      if (given[1].type.kind === SERVER_KINDS.queue.type.kind && (reads += 1) === 1) {
        await advancePlanSet(parts, reference);
      }
      return super.read(...given);
    }
  })(storage);
  await advancePlanSet({ ...parts, storage: between }, reference);
  expect(reads).toBeGreaterThan(0);
  expect((await runs()).map((run) => phaseOf(run))).toEqual(["queued", "queued"]);
});

it("a stack is in one set that has not ended, by the first request", async () => {
  const { parts, create } = await start(["a", "b"]);
  const both = await Promise.allSettled([create(), create()]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const first = both.find((one) => one.status === "fulfilled");
  if (first === undefined) throw new Error("no set");
  await cancelPlanSet(parts, first.value, { actor: "ben" });
  await create();
});

it("ends all of its runs with one, waiting ones too, and goes with them", async () => {
  const { parts, members, create, runs, sets, enqueue, storage } = await start(["a", "b"]);
  const [a] = members;
  if (a === undefined) throw new Error("no stack");
  // The run of the set waits behind another one.
  const before = await enqueue(a.stack, "a", Run_Mode.MODE_APPLY);
  const reference = await create();
  await advancePlanSet(parts, reference);
  const [, second] = (await sets())[0]?.members ?? [];
  if (second === undefined) throw new Error("no member");
  const stack = { ...PROJECT, stack: second.stack };
  await cancelRun(parts, { stack, run: second.run }, { actor: "ben" });
  await advanceOpenSets(parts);
  const [set] = await sets();
  expect(set).toMatchObject({ settled: true, reason: expect.stringContaining("stack b") });
  const ofSet = (await runs()).filter(({ planSet }) => planSet !== "");
  expect(ofSet.map((run) => phaseOf(run))).toEqual(["canceled", "canceled"]);
  await cancelRun(parts, before, { actor: "ben" });
  expect(await expirePlanSets(storage, signal)).toBe(0);
  expect((await expireRuns(storage, {}, systemClock.wallMs() + 500 * DAY_MS, signal)).runs).toBe(3);
  expect(await expirePlanSets(storage, signal)).toBe(1);
  expect(await sets()).toEqual([]);
});
