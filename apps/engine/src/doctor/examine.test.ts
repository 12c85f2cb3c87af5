import { createManualClock } from "@stackwright/base/testing";
import { STORED_RUN_PHASES } from "@stackwright/core";
import {
  NotificationDelivery,
  NotificationDelivery_State,
  NotificationDestination,
  NotificationSettings,
  Run_Mode,
  RunTicket_Step,
  Schedule,
  StackDrift,
  StackHead,
  VcsTask,
} from "@stackwright/proto/stackwright";
import type { Credential } from "@stackwright/registry";
import type { StorageBackend } from "@stackwright/storage";
import { expect, it } from "vitest";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import {
  memberPlace,
  type Place,
  RUN_KIND,
  runPlace,
  STACK_HEAD_KIND,
  stackPlace,
  ticketPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "../queue/append-events.ts";
import { claimTicket } from "../queue/claim.ts";
import { freeze } from "../queue/freeze.ts";
import { RUN_PROTOCOL } from "../queue/run-protocol.ts";
import { readRun } from "../queue/run-row.ts";
import { lockStack, unlockStack } from "../queue/stack-lock.ts";
import { listTickets } from "../queue/sweep.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { RefusedWorkers } from "../worker/refused-workers.ts";
import { examine } from "./examine.ts";
import type { ServerFacts } from "./server-facts.ts";

const HOUR_MS = 3_600_000;
const HEALTHY: ServerFacts = {
  secretKeys: async () => [],
  identityKeys: async () => undefined,
  clockStanding: async () => ({ skewMs: undefined, isDisputed: false, mayReact: true }),
  directories: [],
};

async function start() {
  const fixture = createRunFixture();
  const { parts, clock } = fixture;
  const stack = await fixture.stack("one");
  const examined = async (server?: ServerFacts, tokens: readonly Credential[] = []) =>
    examine({
      ...parts,
      account: "acme",
      credentials: { list: async () => tokens },
      server,
      signal: new AbortController().signal,
    });
  const codes = async (server?: ServerFacts) => (await examined(server)).map(({ code }) => code);
  const run = async () => fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY);
  /** A worker with a claim and a clock of its own, which renews its lease. */
  const claim = async () => {
    const own = createManualClock();
    const worker = await createRunFixture(parts.storage, own).worker("w");
    const [ticket] = await listTickets(parts);
    const claimed = ticket && (await claimTicket(parts, ticket.id, worker, "digest"));
    if (claimed === undefined) throw new Error("nothing to claim");
    return { worker, own };
  };
  return { ...fixture, clock, stack, examined, codes, run, claim };
}

it("finds nothing where nothing is stuck, and nothing of other accounts", async () => {
  const { codes, run, clock, examined, parts } = await start();
  const reference = await run();
  expect(await codes(HEALTHY)).toEqual([]);
  clock.skip(HOUR_MS);
  expect(await codes(HEALTHY)).toEqual(["step_unclaimed"]);
  expect(await examined()).toMatchObject([
    { project: "web", stack: "one", severity: "error", detail: expect.stringContaining("default") },
  ]);
  const ticket = await read(parts.storage, SERVER_KINDS.ticket, ticketPlace(reference));
  const newer = { ...ticket, protocol: RUN_PROTOCOL + 1 };
  await put(parts, SERVER_KINDS.ticket, ticketPlace(reference), newer);
  expect(await examined()).toMatchObject([{ detail: expect.stringContaining("newer release") }]);
  const elsewhere = { account: "other", credentials: { list: async () => [] } };
  const { signal } = new AbortController();
  expect(await examine({ ...parts, ...elsewhere, signal })).toEqual([]);
});

it("says what holds a run up: a lock, then a freeze", async () => {
  const { codes, run, clock, parts, stack, examined } = await start();
  const reference = await run();
  await lockStack(parts, stack, { actor: "ann", reason: "maintenance" });
  clock.skip(HOUR_MS);
  expect(await examined()).toMatchObject([
    {
      code: "queue_locked",
      run: reference.run,
      detail: "the step plan waits: locked by ann: maintenance",
    },
  ]);
  clock.skip(24 * HOUR_MS);
  expect(await codes()).toEqual(["lock_held", "queue_locked"]);
  await unlockStack(parts, stack, { actor: "ann", force: false });
  await freeze(parts, { account: "acme", project: "web" }, { actor: "bob", reason: "holidays" });
  const ticket = await read(parts.storage, SERVER_KINDS.ticket, ticketPlace(reference));
  expect(await codes()).toEqual(["step_unclaimed"]);
  const apply = { ...ticket, step: RunTicket_Step.STEP_APPLY };
  await put(parts, SERVER_KINDS.ticket, ticketPlace(reference), apply);
  expect(await examined()).toMatchObject([
    { code: "queue_frozen", detail: "the step apply waits: frozen by bob: holidays" },
  ]);
});

it("knows a worker that is away by its lease alone", async () => {
  const { run, claim, clock, examined } = await start();
  const reference = await run();
  const { worker, own } = await claim();
  const alive = examined();
  await own.advance(6_000);
  await clock.advance(1_000);
  expect(await alive).toEqual([]);
  const away = examined();
  await clock.advance(20_000);
  expect(await away).toMatchObject([
    { code: "worker_away", run: reference.run, severity: "error" },
  ]);
  await worker.lease.release();
  const [released] = await examined();
  expect(released?.detail).toContain("its lease was released or taken");
});

it("says which runs wait for people, and which for repairs", async () => {
  const { run, stack, clock, codes, parts, examined } = await start();
  const reference = await run();
  const made = await read(parts.storage, RUN_KIND, runPlace(reference));
  const waiting = { ...made, phase: STORED_RUN_PHASES.awaiting_approval };
  await put(parts, RUN_KIND, runPlace(reference), waiting);
  await transact(parts, async (tx) => {
    tx.remove(await tx.get(SERVER_KINDS.ticket, ticketPlace(reference)));
  });
  await run();
  clock.skip(25 * HOUR_MS);
  expect(await examined()).toMatchObject([
    { code: "approval_waits", detail: "run 1 waits for an approval; 1 run waits behind it" },
  ]);
  await put(parts, RUN_KIND, runPlace(reference), {
    ...waiting,
    phase: STORED_RUN_PHASES.applying,
    cancel: { stage: 1, actor: "ann", atMs: made.createdAtMs },
  });
  expect((await codes()).toSorted()).toEqual(["cancel_waits", "queue_without_turn"]);
  const open = StackHead.create({ run: "01GONE", revision: 1n });
  await put(parts, STACK_HEAD_KIND, stackPlace(stack), open);
  expect(await codes()).toContain("apply_interrupted");
});

it("says which recovery waits for a provider, and why, until it is tried again", async () => {
  const { run, parts, examined, clock } = await start();
  const reference = await run();
  const blocked = async (reasonCode: string) =>
    transact(parts, async (tx) => {
      const { row } = await readRun(tx, reference);
      const reason = "acme/demo 1.0.0 is in quarantine: stolen key";
      const updatedAtMs = BigInt(clock.wallMs());
      tx.update(row, { phase: STORED_RUN_PHASES.applying, reason, reasonCode, updatedAtMs });
      const ticket = await tx.get(SERVER_KINDS.ticket, ticketPlace(reference));
      tx.update(ticket, { step: RunTicket_Step.STEP_RECOVER });
    });
  await blocked("recovery_blocked");
  expect(await examined()).toMatchObject([
    {
      code: "recovery_blocked",
      severity: "error",
      run: reference.run,
      detail: "the recovery waits: acme/demo 1.0.0 is in quarantine: stolen key",
      sinceMs: clock.wallMs(),
    },
  ]);
  await blocked("");
  expect(await examined()).toEqual([]);
});

it("names what is due, what failed, what was not delivered and what ends", async () => {
  const { stack, parts, examined, clock } = await start();
  const atMs = BigInt(clock.wallMs());
  const project = { tenancy: stackPlace(stack).tenancy };
  const schedule = Schedule.create({
    id: "S",
    stackName: "one",
    nextAtMs: atMs,
    lastProblem: "no",
  });
  await put(parts, SERVER_KINDS.schedule, memberPlace(stack, "S"), schedule);
  const drift = StackDrift.create({ stackName: "one", nextAtMs: atMs, lastProblem: "it hung" });
  await put(parts, SERVER_KINDS.drift, stackPlace(stack), drift);
  const task = VcsTask.create({
    connection: "infra",
    attempts: 7,
    problem: "401",
    createdAtMs: atMs,
  });
  await put(parts, SERVER_KINDS.vcsTask, { ...project, name: "infra.branch" }, task);
  const check = { ...task, check: true, problem: "the look failed" };
  await put(parts, SERVER_KINDS.vcsTask, { ...project, name: "infra.check" }, check);
  const chat = NotificationDestination.create({ id: "D", name: "chat" });
  const settings = NotificationSettings.create({ destinations: [chat] });
  const places = { ...project, name: "notifications" };
  await put(parts, SERVER_KINDS.notificationSettings, places, settings);
  for (const [name, destination] of [
    ["D.1", "D"],
    ["D.2", "D"],
    ["GONE.1", "GONE"],
  ] as const) {
    const dead = NotificationDelivery.create({
      state: NotificationDelivery_State.STATE_DEAD,
      problem: `410 for ${destination}`,
      endedAtMs: atMs,
    });
    await put(parts, SERVER_KINDS.notificationDelivery, { ...project, name }, dead);
  }
  clock.skip(2 * HOUR_MS);
  const token = {
    account: "acme",
    actor: "token-1",
    roles: [],
    projects: [],
    description: "ci",
    createTimeMs: 0,
    expireTimeMs: clock.wallMs() + HOUR_MS,
    disabled: false,
    rotatedFrom: undefined,
    lastUseTimeMs: clock.wallMs(),
  };
  const unused = { ...token, lastUseTimeMs: undefined };
  const found = await examined(undefined, [token, unused]);
  expect(found.map(({ code, detail }) => `${code}: ${detail}`).toSorted()).toEqual([
    "drift_failed: it hung",
    "drift_overdue: a check for drift is due and was not requested",
    'notification_dead: 2 events for "chat" were given up: 410 for D',
    'repository_failed: the branch of the connection "infra" failed 7 times: 401',
    'repository_failed: to look for lost deliveries of the connection "infra" failed 7 times: the look failed',
    "schedule_failed: the schedule S made no run: no",
    "schedule_overdue: the schedule S is due and made no run",
    expect.stringMatching(/^token_expires: token-1 \(ci\) ends at 2023/),
  ]);
});

it("says what of the server is not as it should be", async () => {
  const { codes, examined, clock } = await start();
  const key = { keyId: "k", secrets: 1, dataKeys: 2, isCurrent: false, isAvailable: false };
  const broken: ServerFacts = {
    secretKeys: async () => [key, { ...key, isAvailable: true }],
    identityKeys: async () => Promise.reject(new Error("no key")),
    clockStanding: async () => ({ skewMs: -3_000, isDisputed: false, mayReact: true }),
    directories: ["/nowhere/at/all"],
  };
  expect(await codes(broken)).toEqual([
    "identity_key_unavailable",
    "key_unavailable",
    "clock_skewed",
    "key_former",
  ]);

  const standing = { skewMs: 7_200_000, isDisputed: false, mayReact: false };
  expect(await codes({ ...HEALTHY, clockStanding: async () => standing })).toEqual([
    "clock_far_off",
  ]);
  const disputed = { ...standing, isDisputed: true };
  expect(await examined({ ...HEALTHY, clockStanding: async () => disputed })).toMatchObject([
    { code: "clock_disputed", detail: expect.stringContaining("leaves what is due to others") },
  ]);

  const unknown = { skewMs: undefined, isDisputed: false, mayReact: false };
  expect(await codes({ ...HEALTHY, clockStanding: async () => unknown })).toEqual([
    "clock_unknown",
  ]);

  const refusedWorkers = new RefusedWorkers(clock);
  refusedWorkers.note("token-1", 4);
  const endMs = clock.wallMs() + 13 * 24 * HOUR_MS;
  const outdated = { ...HEALTHY, refusedWorkers, certificateEndMs: () => endMs };
  expect(await examined(outdated)).toMatchObject([
    { code: "worker_refused", detail: expect.stringContaining("token-1") },
    { code: "certificate_ends" },
  ]);
  clock.skip(13 * 24 * HOUR_MS);
  expect(await codes(outdated)).toEqual(["certificate_ended"]);
});

it("names a step of which nothing is heard, by the last event of its run", async () => {
  const { run, claim, clock, codes, parts } = await start();
  const reference = await run();
  const { own } = await claim();
  const looked = async (): Promise<readonly string[]> => {
    const found = codes();
    await own.advance(6_000);
    await clock.advance(1_000);
    return found;
  };
  clock.skip(29 * 60_000);
  await transact(parts, async (tx) =>
    appendEvents(tx, reference, [{ at: tx.nowMs, event: { type: "log", text: "..." } }]),
  );
  clock.skip(29 * 60_000);
  expect(await looked()).toEqual([]);
  clock.skip(60_000);
  expect(await looked()).toEqual(["step_silent"]);
});

it("a damaged record is named, and keeps nothing from being examined", async () => {
  const { codes, run, clock, stack, damage } = await start();
  await run();
  await damage(SERVER_KINDS.lock, stackPlace(stack));
  clock.skip(HOUR_MS);
  expect(await codes()).toEqual(["step_unclaimed", "record_damaged"]);
});

async function read<M>(storage: StorageBackend, kind: RecordKind<M>, place: Place): Promise<M> {
  return decodeRecord(kind, await storage.read("strong", idOf(kind, place)));
}

/** Writes a record as it is. */
async function put<M>(
  parts: TransactionParts,
  kind: RecordKind<M>,
  place: Place,
  message: M,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.findOrNew(kind, place, () => message);
    tx.update(row, message);
  });
}
