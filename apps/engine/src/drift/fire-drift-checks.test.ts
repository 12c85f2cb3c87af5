import { silentLogger } from "@stackwright/base/logger";
import { isEnded, type StackReference } from "@stackwright/core";
import {
  DriftRule,
  DriftRule_Reaction,
  NotificationSettings,
  Project,
  Project_AutoApply,
  type Run,
  Run_Mode,
  RunTicket_Class,
  type StackDrift,
  StackHead,
  StateObject,
  StateObject_Mode,
} from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { MAX_IGNORES } from "../domain/drift-ignore.ts";
import { type FoundDrift, MAX_DRIFTED_ATTRIBUTES } from "../domain/found-drift.ts";
import { notificationSettingsPlace } from "../domain/notification-places.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { beginApply, endApply } from "../queue/apply-steps.ts";
import { cancelRun } from "../queue/cancel.ts";
import { claimTicket } from "../queue/claim.ts";
import { endIgnore, ignoreDrift } from "../queue/drift-ignores.ts";
import { beginPlanning, endWithoutPlan, recordPlan } from "../queue/plan-steps.ts";
import { phaseOf } from "../queue/run-row.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { listTickets } from "../queue/sweep.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { DriftMirror } from "./drift-index.ts";
import { checkDrift, fireDriftChecks } from "./fire-drift-checks.ts";

/** Stacks that are due together; 10,000 in the long runs. */
const STACKS = Number(process.env["STACKWRIGHT_RUNS"] ?? 1) > 5 ? 10_000 : 1_000;

const MINUTE = 60_000;
const SUMMARY = {
  create: 0,
  update: 0,
  replace: 0,
  delete: 0,
  import: 0,
  move: 0,
  forget: 0,
  documentSha256: "",
  viewSha256: "",
};
const FOUND: FoundDrift = {
  changed: 1,
  deleted: 1,
  objects: [
    { address: "lab_object.a", deposed: "", deleted: false, attributes: ["size"] },
    { address: "lab_object.b", deposed: "", deleted: true, attributes: [] },
  ],
};

/** Stacks of a project whose stacks are checked each hour, with a configuration that was applied. */
async function start(
  names: readonly string[],
  rule: Partial<DriftRule> = {},
  project: Partial<Project> = {},
) {
  const fixture = createRunFixture();
  const { parts, storage, clock, put } = fixture;
  const stacks: StackReference[] = [];
  for (const name of names) {
    const stack = await fixture.stack(name);
    stacks.push(stack);
    await transact(parts, async (tx) => {
      tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
    });
  }
  const [first] = stacks;
  if (first === undefined) throw new Error("no stack");
  const drift = DriftRule.create({ everyMinutes: 60, ...rule });
  await put(
    SERVER_KINDS.project,
    projectPlace(first),
    Project.create({ name: "web", drift, ...project }),
  );
  const withLogger = { ...parts, logger: silentLogger };
  const record = async (stack = first): Promise<StackDrift> =>
    decodeRecord(
      SERVER_KINDS.drift,
      await storage.read("strong", idOf(SERVER_KINDS.drift, stackPlace(stack))),
    );
  const runs = async (): Promise<readonly Run[]> =>
    (await storage.list("strong", RUN_KIND.type, fixture.tenancy, "")).map((one) =>
      decodeRecord(RUN_KIND, one),
    );
  const fire = async (over: Partial<TransactionParts> = {}) => {
    const ending = new AbortController();
    const synced = Promise.withResolvers<void>();
    const mirror = new DriftMirror(withLogger, synced.resolve, ending.signal);
    await synced.promise;
    ending.abort();
    await mirror.done;
    if (mirror.index === undefined) throw new Error("the store was not read");
    return fireDriftChecks({ ...withLogger, ...over }, mirror.index);
  };
  let claims = 0;
  /** Claims the ticket of a run. */
  const claim = async (run: string) => {
    const ticket = (await listTickets(parts)).find((one) => one.ticket.run === run);
    if (ticket === undefined) throw new Error(`no ticket of ${run}`);
    const worker = await fixture.worker(`w${(claims += 1)}`);
    const made = await claimTicket(parts, ticket.id, worker, parts.token());
    if (made === undefined) throw new Error("not claimed");
    return made;
  };
  /** Ends the plan of a run, as a worker does. */
  const end = async (run: string, found: FoundDrift | undefined, revision = 0n) => {
    const claimed = await claim(run);
    await beginPlanning(parts, claimed);
    if (found === undefined) {
      await endWithoutPlan(parts, claimed, { phase: "no_changes", revision });
      return;
    }
    const digest = await fixture.plan(claimed.reference.stack, run);
    const plan = { digest, baseRevision: revision, summary: SUMMARY, drift: found };
    await recordPlan(parts, claimed, plan);
  };
  /** Goes to the next time of a stack. */
  const goToNext = async (stack = first): Promise<void> => {
    clock.skip(Number((await record(stack)).nextAtMs) - clock.wallMs());
  };
  await put(
    SERVER_KINDS.notificationSettings,
    notificationSettingsPlace(first),
    NotificationSettings.fromPartial({ destinations: [{ id: "D", events: ["drift.found"] }] }),
  );
  /** What destinations are sent, the oldest first. */
  const events = async () => {
    const { type } = SERVER_KINDS.notificationEvent;
    const found = await storage.list("strong", type, fixture.tenancy, "");
    return found
      .map((one) => decodeRecord(SERVER_KINDS.notificationEvent, one))
      .toSorted((one, other) => Number(one.atMs - other.atMs))
      .map(({ event, drifted, ignored }) => ({ event, drifted, ignored }));
  };
  return { ...fixture, first, stacks, record, runs, fire, claim, end, goToNext, events };
}

it("a stack is checked within its interval, by a run that only plans and keeps no other out", async () => {
  const { fire, record, runs, goToNext, clock, end, parts, first, enqueue } = await start(["one"]);
  const user = await enqueue(first, "one", Run_Mode.MODE_APPLY);
  expect(await fire()).toBe(0);
  const noted = Number((await record()).nextAtMs);
  expect(noted).toBeGreaterThan(clock.wallMs());
  expect(noted).toBeLessThanOrEqual(clock.wallMs() + 60 * MINUTE);
  await goToNext();
  expect(await fire()).toBe(1);
  expect(await fire()).toBe(0);
  const [check] = (await runs()).filter(({ id }) => id !== user.run);
  expect(check).toMatchObject({
    mode: Run_Mode.MODE_REFRESH_ONLY,
    planOnly: true,
    background: true,
    automatic: true,
    actor: "server",
    cause: `drift-check:${new Date(noted).toISOString()}`,
  });
  expect(await record()).toMatchObject({ check: check?.id, nextAtMs: BigInt(noted + 60 * MINUTE) });
  const queue = await transact(parts, async (tx) => (await readQueue(tx, first)).message);
  expect(queue).toMatchObject({ current: user.run, pending: [], speculative: [check?.id] });
  const tickets = (await listTickets(parts)).filter(({ ticket }) => ticket.run === check?.id);
  expect(tickets).toMatchObject([{ ticket: { class: RunTicket_Class.CLASS_SPECULATIVE } }]);
  await end(check?.id ?? "", FOUND);
  expect(await record()).toMatchObject({
    check: "",
    run: check?.id,
    changed: 1,
    deleted: 1,
    objects: FOUND.objects,
    sinceMs: BigInt(clock.wallMs()),
    lastProblem: "",
    remedy: "",
  });
});

it("many servers request one check of a time, also where the answer of a batch is lost", async () => {
  const { fire, runs, goToNext, storage, clock } = await start(["one"]);
  await fire();
  await goToNext();
  let lost = 0;
  const flaky = overBatches(storage, async (_, write) => {
    const answer = await write();
    lost += 1;
    if (lost > 1) return answer;
    const { StorageError } = await import("@stackwright/storage");
    throw new StorageError("STORAGE_INCONSISTENT", "lost", { details: { outcome: "unknown" } });
  });
  const fired = Promise.all([
    fire({ storage: flaky }),
    ...Array.from({ length: 7 }, async () => fire()),
  ]);
  // The pauses between attempts pass.
  const settled = new AbortController();
  const settling = fired.finally(() => settled.abort());
  while (!settled.signal.aborted) await clock.advance(1);
  expect((await settling).reduce((sum, one) => sum + one, 0)).toBe(1);
  expect(lost).toBeGreaterThan(0);
  expect(await runs()).toHaveLength(1);
});

it("thousands of stacks that are due together are spread, and checked a few at a time", {
  timeout: 900_000,
}, async () => {
  const { fire, runs, clock, storage, tenancy, end, parts } = await start(
    Array.from({ length: STACKS }, (_, index) => `s${index}`),
  );
  // The next times are noted by several sweeps.
  for (let sweep = 0; sweep < STACKS / 200; sweep += 1) expect(await fire()).toBe(0);
  const records = (await storage.list("strong", SERVER_KINDS.drift.type, tenancy, "")).map((one) =>
    decodeRecord(SERVER_KINDS.drift, one),
  );
  expect(records).toHaveLength(STACKS);
  const perMinute = Map.groupBy(records, ({ nextAtMs }) => Math.floor(Number(nextAtMs) / MINUTE));
  expect(perMinute.size).toBeGreaterThan(50);
  expect(Math.max(...[...perMinute.values()].map(({ length }) => length))).toBeLessThan(
    STACKS / 20,
  );
  // After a night without a server all are due.
  clock.skip(12 * 60 * MINUTE);
  expect(await fire()).toBe(20);
  expect(await fire()).toBe(0);
  const open = (await runs()).filter((run) => !isEnded(phaseOf(run)));
  expect(open).toHaveLength(20);
  for (const { id } of open.slice(0, 3)) await end(id, undefined);
  expect(await fire()).toBe(3);
  expect(await listTickets(parts)).toHaveLength(20);
  const causes = (await runs()).map(({ stack }) => stack);
  expect(new Set(causes).size).toBe(23);
});

it("checks of an account that no worker takes keep no other account out", async () => {
  const names = Array.from({ length: 25 }, (_, index) => `s${index}`);
  const fixture = await start(names);
  const { parts, put, fire, runs, clock, record } = fixture;
  const nextOf = async (stacks: readonly StackReference[]) =>
    Math.max(
      ...(await Promise.all(stacks.map(async (one) => Number((await record(one)).nextAtMs)))),
    );
  await fire();
  clock.skip((await nextOf(fixture.stacks)) - clock.wallMs());
  expect([await fire(), await fire()]).toEqual([20, 0]);
  const others: StackReference[] = [];
  for (const name of ["one", "two"]) {
    const stack = await fixture.stack(name, "other");
    others.push(stack);
    await transact(parts, async (tx) => {
      tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
    });
    const drift = DriftRule.create({ everyMinutes: 5 });
    await put(SERVER_KINDS.project, projectPlace(stack), Project.create({ name: "web", drift }));
  }
  expect(await fire()).toBe(0);
  clock.skip((await nextOf(others)) - clock.wallMs());
  expect(await fire()).toBe(2);
  expect(await runs()).toHaveLength(20);
});

it("accounts whose checks no worker begins, more than there may be checks, delay no other account", async () => {
  const WITHOUT_WORKERS = 210;
  const fixture = await start(["one"]);
  const { parts, put, fire, clock, record, first } = fixture;
  const add = async (account: string): Promise<StackReference> => {
    const stack = await fixture.stack("one", account);
    await transact(parts, async (tx) => {
      tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
    });
    const drift = DriftRule.create({ everyMinutes: 60 });
    await put(SERVER_KINDS.project, projectPlace(stack), Project.create({ name: "web", drift }));
    return stack;
  };
  const without: StackReference[] = [];
  for (let index = 0; index < WITHOUT_WORKERS; index += 1) without.push(await add(`w${index}`));
  // The next times are noted by several sweeps.
  expect([await fire(), await fire()]).toEqual([0, 0]);
  const nextOf = async (stack: StackReference) => Number((await record(stack)).nextAtMs);
  clock.skip(Math.max(...(await Promise.all([...without, first].map(nextOf)))) - clock.wallMs());
  // Each sweep counts the objects of a few stacks.
  let fired = 0;
  for (let sweep = 0; sweep < 12; sweep += 1) fired += await fire();
  expect(fired).toBe(200);
  // Once it shows that no worker begins them, those which have waited longest keep no other one out.
  clock.skip(2 * MINUTE);
  expect(await fire()).toBe(11);
  expect(await fire()).toBe(0);
  expect((await record(first)).check).not.toBe("");
});

it("a check that saw a state which was replaced meanwhile records nothing, and is repeated", async () => {
  const { fire, record, runs, goToNext, end, first, put, clock } = await start(["one"]);
  await fire();
  await goToNext();
  await fire();
  const [check] = await runs();
  const head = StackHead.create({ run: "", revision: 7n });
  await put(STACK_HEAD_KIND, stackPlace(first), head);
  await end(check?.id ?? "", FOUND, 6n);
  expect(await record()).toMatchObject({
    check: "",
    changed: 0,
    objects: [],
    nextAtMs: BigInt(clock.wallMs() + MINUTE),
    lastProblem: "the stack was applied during the check; it is repeated",
  });
  // While it is being applied, none begins.
  await put(STACK_HEAD_KIND, stackPlace(first), StackHead.create({ run: "R", revision: 7n }));
  clock.skip(2 * MINUTE);
  expect(await fire()).toBe(0);
  await put(STACK_HEAD_KIND, stackPlace(first), head);
  expect(await fire()).toBe(1);
  const again = (await record()).check;
  await end(again, FOUND, 7n);
  expect(await record()).toMatchObject({ changed: 1, deleted: 1, lastProblem: "", run: again });
});

it("what was found is cleared by an apply of the whole stack, and not by one of a part", async () => {
  const { fire, record, runs, goToNext, end, first, enqueue, claim, parts, fence } = await start([
    "one",
  ]);
  await fire();
  await goToNext();
  await fire();
  const [check] = await runs();
  await end(check?.id ?? "", FOUND);
  for (const targets of [["lab_object.b"], []]) {
    const user = await enqueue(first, "one", Run_Mode.MODE_APPLY, true);
    await transact(parts, async (tx) => {
      tx.update(await tx.get(RUN_KIND, memberPlace(first, user.run)), { targets });
    });
    await end(user.run, FOUND);
    const claimed = await claim(user.run);
    const held = await fence(first, user.run);
    if (held === undefined) throw new Error("the stack is held");
    await beginApply(parts, claimed, held.tenure.epoch);
    await held.release();
    await endApply(parts, claimed, { phase: "applied", revision: 1n });
    expect((await record()).changed).toBe(targets.length);
  }
  expect(await record()).toMatchObject({ deleted: 0, objects: [], sinceMs: 0n });
});

it.each([
  ["plan", DriftRule_Reaction.REACTION_PLAN, {}, { autoApply: false, savedPlan: true }],
  ["repair", DriftRule_Reaction.REACTION_REPAIR, {}, { autoApply: true, savedPlan: false }],
  [
    "repair, where the project wants approvals",
    DriftRule_Reaction.REACTION_REPAIR,
    { autoApply: Project_AutoApply.AUTO_APPLY_NEVER },
    { autoApply: false, savedPlan: true },
  ],
  [
    "accept",
    DriftRule_Reaction.REACTION_ACCEPT,
    {},
    { autoApply: true, savedPlan: false, mode: Run_Mode.MODE_REFRESH_ONLY },
  ],
  [
    "accept, where the project wants approvals",
    DriftRule_Reaction.REACTION_ACCEPT,
    { autoApply: Project_AutoApply.AUTO_APPLY_NEVER },
    { autoApply: false, savedPlan: true, mode: Run_Mode.MODE_REFRESH_ONLY },
  ],
])("%s: a run is requested once for the same drift", async (_, reaction, project, expected) => {
  const { fire, record, runs, goToNext, end, parts, first } = await start(
    ["one"],
    { reaction },
    project,
  );
  await fire();
  await goToNext();
  await fire();
  const [check] = await runs();
  await end(check?.id ?? "", FOUND);
  const remedy = (await runs()).find(({ id }) => id !== check?.id);
  expect(remedy).toMatchObject({
    mode: Run_Mode.MODE_APPLY,
    ...expected,
    cause: `drift:${check?.id}`,
    automatic: true,
  });
  expect((await record()).remedy).toBe(remedy?.id);
  await cancelRun(parts, { stack: first, run: remedy?.id ?? "" }, { actor: "ann" });
  await goToNext();
  await fire();
  await end((await record()).check, FOUND);
  expect(await runs()).toHaveLength(3);
  expect((await record()).lastProblem).toBe("the run 2 was requested for it, and left it");
  // Other drift is another matter, unless a run of the stack has not ended.
  await goToNext();
  await fire();
  await end((await record()).check, { ...FOUND, changed: 0, objects: FOUND.objects.slice(1) });
  expect(await runs()).toHaveLength(5);
});

it("what is ignored counts for nothing, until it is heeded or its time is over", async () => {
  const { fire, record, runs, goToNext, end, parts, first, clock, events } = await start(["one"], {
    reaction: DriftRule_Reaction.REACTION_REPAIR,
  });
  const at = { stack: first, stackName: "one" };
  const ignore = async (address: string, attribute: string, forMs = 1000 * MINUTE) => {
    const terms = { reason: "known", actor: "ann", forMs };
    const [made] = await ignoreDrift(parts, at, [{ address, attribute }], terms);
    if (made === undefined) throw new Error("nothing is ignored");
    return made;
  };
  const check = async (found: FoundDrift) => {
    await goToNext();
    await fire();
    await end((await record()).check, found);
    return record();
  };
  await ignore("lab_object.a", "size");
  const b = await ignore("lab_object.b", "");
  await fire();
  // Both differences are ignored: no run is requested, and no notification is sent.
  const quiet = { changed: 0, deleted: 0, sinceMs: 0n, remedy: "" };
  expect(await check(FOUND)).toMatchObject({ ...quiet, ignoredChanged: 1, ignoredDeleted: 1 });
  expect(await events()).toEqual([]);
  // An attribute that is not ignored counts, as does one that is gone.
  const [a, gone] = FOUND.objects;
  if (a === undefined || gone === undefined) throw new Error("no objects");
  const more = { ...FOUND, objects: [{ ...a, attributes: ["name", "size"] }, gone] };
  const found = await check(more);
  expect(found).toMatchObject({ changed: 1, deleted: 0, ignoredChanged: 0, ignoredDeleted: 1 });
  expect(await events()).toEqual([{ event: "drift.found", drifted: 1, ignored: 1 }]);
  // A run that would undo what was let be with the rest waits for an approval.
  const remedy = (await runs()).find(({ id }) => id === found.remedy);
  expect(remedy).toMatchObject({ autoApply: false, savedPlan: true });
  await endIgnore(parts, first, b.id);
  expect(await record()).toMatchObject({ changed: 1, deleted: 1, ignoredDeleted: 0, remedy: "" });
  await expect(endIgnore(parts, first, b.id)).rejects.toMatchObject({ code: "not_found" });
  // An apply of all leaves what is ignored for the next time.
  await ignore("lab_object.b", "", MINUTE);
  const { ignores } = await record();
  expect(ignores.map(({ address }) => address)).toEqual(["lab_object.a", "lab_object.b"]);
  clock.skip(2 * MINUTE);
  await fire();
  expect(await record()).toMatchObject({ changed: 1, deleted: 1, ignores: ignores.slice(0, 1) });
  expect((await events()).slice(1)).toEqual([{ event: "drift.found", drifted: 2, ignored: 0 }]);
});

it("of objects with more attributes than are named none is ignored by them, and ignores are few", async () => {
  const { parts, first, fire, goToNext, end, record } = await start(["one"]);
  const at = { stack: first, stackName: "one" };
  const given = { reason: "known", actor: "ann", forMs: 1000 * MINUTE };
  const attributes = Array.from({ length: MAX_DRIFTED_ATTRIBUTES }, (_, index) => `a${index}`);
  await ignoreDrift(
    parts,
    at,
    attributes.map((attribute) => ({ address: "lab_object.a", attribute })),
    given,
  );
  await fire();
  await goToNext();
  await fire();
  const object = { address: "lab_object.a", deposed: "", deleted: false, attributes };
  await end((await record()).check, { changed: 1, deleted: 0, objects: [object] });
  expect(await record()).toMatchObject({ changed: 1, ignoredChanged: 0 });
  const whole = (address: string) => ({ address, attribute: "" });
  const b = Array.from({ length: MAX_IGNORES - attributes.length }, (_, index) =>
    whole(`lab_object.b${index}`),
  );
  // Of several that do not fit together, none is ignored.
  await expect(ignoreDrift(parts, at, [...b, whole("lab_object.c")], given)).rejects.toMatchObject({
    code: "unprocessable",
  });
  expect((await record()).ignores).toHaveLength(attributes.length);
  // Two of the same are one.
  await ignoreDrift(parts, at, [...b, whole("lab_object.b0")], given);
  expect((await record()).ignores).toHaveLength(MAX_IGNORES);
  const one = [whole("lab_object.c")];
  await expect(ignoreDrift(parts, at, one, given)).rejects.toMatchObject({ code: "unprocessable" });
  // The same again is no further one.
  await ignoreDrift(parts, at, b.slice(0, 1), { ...given, reason: "longer" });
  expect((await record()).ignores.at(-1)).toMatchObject({ reason: "longer" });
  // One that is over leaves its place to another one, also before a sweep has ended it.
  await ignoreDrift(parts, at, b.slice(0, 1), { ...given, forMs: MINUTE });
  await expect(ignoreDrift(parts, at, one, given)).rejects.toMatchObject({ code: "unprocessable" });
  await parts.clock.advance(MINUTE);
  await ignoreDrift(parts, at, one, given);
  expect((await record()).ignores.at(-1)).toMatchObject({ address: "lab_object.c" });
});

it("a user's run keeps a remedy out", async () => {
  const { fire, record, runs, goToNext, end, enqueue, first } = await start(["one"], {
    reaction: DriftRule_Reaction.REACTION_REPAIR,
  });
  await fire();
  await goToNext();
  await fire();
  await enqueue(first, "one", Run_Mode.MODE_APPLY);
  await end((await record()).check, FOUND);
  expect(await runs()).toHaveLength(2);
  expect(await record()).toMatchObject({ changed: 1, remedy: "" });
  expect((await record()).lastProblem).toMatch(/another run of the stack has not ended/);
});

it("damaged records, rules and settings concern no other stack", async () => {
  const { fire, runs, goToNext, stacks, damage, put, storage, record } = await start([
    "one",
    "two",
    "three",
  ]);
  await fire();
  const [one, two, three] = stacks;
  if (one === undefined || two === undefined || three === undefined) throw new Error("stacks");
  await damage(SERVER_KINDS.drift, stackPlace(one));
  const rule = DriftRule.create({ everyMinutes: 0 });
  await put(SERVER_KINDS.drift, stackPlace(two), { ...(await record(two)), rule });
  await damage(SERVER_KINDS.project, projectPlace({ account: "acme", project: "other" }));
  await goToNext(three);
  expect(await fire()).toBe(1);
  expect((await runs()).map(({ stack }) => stack)).toEqual([three.stack]);
  // A stack that is gone takes its record with it.
  const gone = { ...one, stack: "G".repeat(26) };
  await put(SERVER_KINDS.drift, stackPlace(gone), {
    ...(await record(three)),
    nextAtMs: 1n,
    check: "",
  });
  expect(await fire()).toBe(0);
  const left = await storage.list("strong", SERVER_KINDS.drift.type, stackPlace(gone).tenancy, "");
  expect(left.map(({ id }) => id.name)).not.toContain(gone.stack);
});

it("a rule that became shorter counts at once, and a paused one checks nothing", async () => {
  const { fire, record, first, put, clock } = await start(["one"], { everyMinutes: 60 * 24 * 30 });
  await fire();
  const place = projectPlace(first);
  const shorter = DriftRule.create({ everyMinutes: 10 });
  await put(SERVER_KINDS.project, place, Project.create({ name: "web", drift: shorter }));
  await fire();
  expect(Number((await record()).nextAtMs)).toBeLessThanOrEqual(clock.wallMs() + 10 * MINUTE);
  const paused = DriftRule.create({ everyMinutes: 10, paused: true });
  await put(SERVER_KINDS.project, place, Project.create({ name: "web", drift: paused }));
  clock.skip(60 * MINUTE);
  expect(await fire()).toBe(0);
});

it("a check on request takes the one that has not ended", async () => {
  const { parts, first, runs, record, end } = await start(["one"]);
  const asked = { stack: first, stackName: "one", actor: "ann", mayApply: true };
  const made = await checkDrift(parts, asked);
  expect(made.actor).toBe("ann");
  expect((await checkDrift(parts, asked)).id).toBe(made.id);
  await end(made.id, undefined);
  expect(await record()).toMatchObject({ check: "", run: made.id, changed: 0, sinceMs: 0n });
  expect(await runs()).toHaveLength(1);
});

it.each([
  ["report", DriftRule_Reaction.REACTION_UNSPECIFIED, 0],
  ["plan", DriftRule_Reaction.REACTION_PLAN, 1],
  ["repair", DriftRule_Reaction.REACTION_REPAIR, 1],
  ["accept", DriftRule_Reaction.REACTION_ACCEPT, 1],
] as const)(
  "%s: a check by who may only plan causes no run, and the next one by the rule does",
  async (_, reaction, follows) => {
    const { fire, parts, first, runs, record, end, goToNext } = await start(["one"], { reaction });
    await fire();
    const planner = { stack: first, stackName: "one", actor: "pat", mayApply: false };
    const { id, cause } = await checkDrift(parts, planner);
    expect(cause).toMatch(/^drift-check:report:/);
    await end(id, FOUND);
    expect(await record()).toMatchObject({ remedy: "", changed: FOUND.changed });
    expect(await runs()).toHaveLength(1);
    await goToNext();
    await fire();
    await end((await record()).check, FOUND);
    expect(await runs()).toHaveLength(2 + follows);
    expect((await record()).remedy === "").toBe(follows === 0);
    // By who may apply, it follows at once.
    const again = await start(["one"], { reaction });
    await again.fire();
    const stack = { stack: again.first, stackName: "one", actor: "ann", mayApply: true };
    await again.end((await checkDrift(again.parts, stack)).id, FOUND);
    expect(await again.runs()).toHaveLength(1 + follows);
  },
);

it.each([
  ["the operator asks second", [false, true], 1],
  ["the planner asks second", [true, false], 1],
  ["only planners ask", [false, false], 0],
] as const)(
  "a check that several ask for is followed by a run where one of them may apply: %s",
  async (_, asking, follows) => {
    const reaction = DriftRule_Reaction.REACTION_REPAIR;
    const { fire, parts, first, runs, record, end } = await start(["one"], { reaction });
    await fire();
    const ids = new Set<string>();
    for (const mayApply of asking) {
      const actor = mayApply ? "ann" : "pat";
      ids.add((await checkDrift(parts, { stack: first, stackName: "one", actor, mayApply })).id);
    }
    expect(ids.size).toBe(1);
    for (const id of ids) await end(id, FOUND);
    expect(await runs()).toHaveLength(1 + follows);
    expect((await record()).remedy === "").toBe(follows === 0);
  },
);

/** Records objects of a stack, as an executor does. */
async function putObjects(
  { put, first }: Pick<Awaited<ReturnType<typeof start>>, "put" | "first">,
  addresses: readonly string[],
): Promise<void> {
  for (const [at, address] of addresses.entries()) {
    const [type = ""] = address.split(".");
    const object = StateObject.fromPartial({
      address,
      type,
      mode: StateObject_Mode.MODE_MANAGED,
      provider: { source: type.split("_")[0] ?? "" },
    });
    await put(recordKind("StateObject", StateObject), memberPlace(first, `o${at}`), object);
  }
}

const PART = { types: ["lab_k*", "lab_user"], everyMinutes: 10 };

it("objects of some types are checked more often than all, by checks that are limited to them", async () => {
  const started = await start(["one"], { parts: [PART] });
  const { fire, runs, record, end, clock } = started;
  await putObjects(started, ["lab_key.a", "lab_key.b", "lab_user.a", "lab_object.a"]);
  const limited: string[][] = [];
  // An hour and a little more, every minute.
  for (let minute = 0; minute <= 65; minute += 1) {
    await fire();
    const open = (await runs()).filter((run) => !isEnded(phaseOf(run)));
    for (const { id, targets } of open) {
      limited.push(targets);
      await end(id, undefined);
    }
    clock.skip(MINUTE);
  }
  const [part, all] = [
    limited.filter(({ length }) => length > 0),
    limited.filter(({ length }) => length === 0),
  ];
  expect(new Set(part.map((one) => one.join()))).toEqual(
    new Set(["lab_key.a,lab_key.b,lab_user.a"]),
  );
  expect([part.length >= 5 && part.length <= 7, all.length]).toEqual([
    true,
    expect.toBeOneOf([1, 2]),
  ]);
  // One of all objects is one of the part, too: both are never due at once.
  const made = (await runs()).map(({ createdAtMs }) => createdAtMs);
  expect(new Set(made).size).toBe(made.length);
  expect((await record()).partNextAtMs).toHaveLength(1);
});

it("a check of some objects changes what is known of these alone", async () => {
  const started = await start(["one"], { parts: [PART] });
  const { fire, runs, record, end, clock, goToNext } = started;
  await putObjects(started, ["lab_key.a", "lab_object.a"]);
  const found = (...objects: FoundDrift["objects"][number][]): FoundDrift => {
    const deleted = objects.filter((one) => one.deleted).length;
    return { changed: objects.length - deleted, deleted, objects };
  };
  const changed = (address: string) => ({
    address,
    deposed: "",
    deleted: false,
    attributes: ["size"],
  });
  const gone = (address: string) => ({ address, deposed: "", deleted: true, attributes: [] });
  const checked = async (isPart: boolean, what: FoundDrift | undefined) => {
    if (isPart) clock.skip(Number((await record()).partNextAtMs[0]) - clock.wallMs());
    else await goToNext();
    expect(await fire()).toBe(1);
    const open = (await runs()).find((run) => !isEnded(phaseOf(run)));
    expect(open?.targets.length).toBe(isPart ? 1 : 0);
    await end(open?.id ?? "", what);
    const { changed: some, deleted, objects } = await record();
    return [some, deleted, objects.map(({ address }) => address)];
  };
  await fire();
  const both = found(changed("lab_key.a"), gone("lab_object.a"));
  expect(await checked(false, both)).toEqual([1, 1, ["lab_key.a", "lab_object.a"]]);
  const { checkedAtMs, sinceMs } = await record();
  expect(await checked(true, undefined)).toEqual([0, 1, ["lab_object.a"]]);
  expect(await record()).toMatchObject({ checkedAtMs, sinceMs });
  expect(await checked(true, found(gone("lab_key.a")))).toEqual([
    0,
    2,
    ["lab_key.a", "lab_object.a"],
  ]);
  // All of it is well again.
  expect(await checked(false, undefined)).toEqual([0, 0, []]);
  expect((await record()).sinceMs).toBe(0n);
});

it("a part without objects makes no run, and one with objects one run for each time", async () => {
  const started = await start(["one"], { parts: [PART] });
  const { fire, runs, record, clock } = started;
  await fire();
  const next = async (): Promise<void> =>
    clock.skip(Number((await record()).partNextAtMs[0]) - clock.wallMs());
  await next();
  if (Number((await record()).nextAtMs) <= clock.wallMs()) {
    // All objects are due at the same time, and are checked first.
    expect(await fire()).toBe(1);
    await started.end((await runs())[0]?.id ?? "", undefined);
    await next();
  }
  const { length: before } = await runs();
  expect(await fire()).toBe(0);
  expect(await runs()).toHaveLength(before);
  expect(Number((await record()).partNextAtMs[0])).toBeGreaterThan(clock.wallMs());
  await putObjects(started, ["lab_user.a"]);
  await next();
  expect([await fire(), await fire()]).toEqual([1, 0]);
  expect(await runs()).toHaveLength(before + 1);
});

it("10,000 objects of one provider are checked at its rate, and keep no stack of another provider waiting", {
  timeout: 120_000,
}, async () => {
  const names = Array.from({ length: 20 }, (_, at) => `s${at}`);
  // None of them is due a second time before the last one was checked.
  const everyMinutes = 30 * 24 * 60;
  const started = await start([...names, "other"], { everyMinutes });
  const { stacks, fire, runs, record, put, clock, end } = started;
  const other = stacks.at(-1);
  if (other === undefined) throw new Error("no stack");
  for (const stack of stacks) {
    const type = stack === other ? "other_thing" : "lab_thing";
    const addresses = Array.from({ length: 500 }, (_, at) => `${type}.t${at}`);
    await putObjects({ put, first: stack }, addresses);
  }
  await fire();
  clock.skip(everyMinutes * MINUTE);
  const begunMs = clock.wallMs();
  const checked: { readonly stack: string; readonly atMs: number }[] = [];
  while (checked.length < stacks.length) {
    await fire();
    for (const { id, stack } of (await runs()).filter((run) => !isEnded(phaseOf(run)))) {
      checked.push({ stack, atMs: clock.wallMs() });
      await end(id, undefined);
    }
    clock.skip(10_000);
    expect(clock.wallMs() - begunMs).toBeLessThan(60 * MINUTE);
  }
  expect(new Set(checked.map(({ stack }) => stack)).size).toBe(stacks.length);
  // The objects of 20 stacks are counted in one sweep.
  const waitedMs = (checked.find(({ stack }) => stack === other.stack)?.atMs ?? 0) - begunMs;
  expect(waitedMs).toBeLessThanOrEqual(10_000);
  // 2,000 at once, then 50 in each second.
  const times = checked.filter(({ stack }) => stack !== other.stack).map(({ atMs }) => atMs);
  for (const from of times) {
    const within = times.filter((atMs) => atMs >= from && atMs <= from + MINUTE);
    expect(within.length * 500).toBeLessThanOrEqual(2_000 + 50 * 60 + 500);
  }
  expect((times.at(-1) ?? 0) - begunMs).toBe(160_000);
  expect((await record(other)).loads).toEqual([{ provider: "other", objects: 500 }]);
});

it("what a check reads is counted with the first one, and of a part for itself", async () => {
  const started = await start(["one"], { parts: [{ types: ["lab_key"], everyMinutes: 10 }] });
  const { fire, record, runs, end, clock, goToNext } = started;
  await putObjects(started, ["lab_key.a", "lab_key.b", "lab_user.a"]);
  await fire();
  clock.skip(Number((await record()).partNextAtMs[0]) - clock.wallMs());
  const isPartFirst = Number((await record()).nextAtMs) > clock.wallMs();
  await fire();
  const [first] = await runs();
  expect(await record()).toMatchObject({
    loads: [{ provider: "lab", objects: isPartFirst ? 2 : 3 }],
    loadsOfPart: isPartFirst,
  });
  await end(first?.id ?? "", undefined);
  await goToNext();
  await fire();
  expect(await record()).toMatchObject({
    loads: [{ provider: "lab", objects: 3 }],
    loadsOfPart: false,
  });
});

it("a large stack that has to be recovered keeps no other one from its checks", async () => {
  const { stacks, fire, record, runs, put, clock } = await start(["one", "two"]);
  await fire();
  const times = await Promise.all(stacks.map(async (one) => (await record(one)).nextAtMs));
  const [stuck, other] = (times[0] ?? 0n) < (times[1] ?? 0n) ? stacks : stacks.toReversed();
  if (stuck === undefined || other === undefined) throw new Error("no stacks");
  const many = Array.from({ length: 2_000 }, (_, at) => `lab_thing.t${at}`);
  await putObjects({ put, first: stuck }, many);
  await putObjects({ put, first: other }, ["lab_thing.a"]);
  await put(STACK_HEAD_KIND, stackPlace(stuck), StackHead.create({ run: "R" }));
  clock.skip(12 * 60 * MINUTE);
  for (let sweep = 0; sweep < 3; sweep += 1) {
    await fire();
    clock.skip(MINUTE);
  }
  expect((await runs()).map(({ stack }) => stack)).toEqual([other.stack]);
});

it("servers that look at the same time read no more objects of a provider than one would", async () => {
  const names = Array.from({ length: 12 }, (_, at) => `s${at}`);
  const { stacks, fire, runs, put, clock } = await start(names);
  for (const first of stacks) {
    const addresses = Array.from({ length: 500 }, (_, at) => `lab_thing.t${at}`);
    await putObjects({ put, first }, addresses);
  }
  await fire();
  clock.skip(12 * 60 * MINUTE);
  const fired = Promise.all([fire(), fire(), fire()]);
  // The pauses between attempts pass.
  const settled = new AbortController();
  const settling = fired.finally(() => settled.abort());
  while (!settled.signal.aborted) await clock.advance(1);
  await settling;
  expect(await runs()).toHaveLength(4);
});
