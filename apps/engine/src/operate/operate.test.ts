import { randomUUID } from "node:crypto";
import { createManualClock } from "@stackwright/base/testing";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { type Resource, tenancyOf } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, stackPlace, WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { freeze, overrideFreeze } from "../queue/freeze.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { examineRecords } from "./examine-records.ts";
import { findLiveProcesses } from "./live-processes.ts";
import { RestoredStore, thawRestored } from "./restored-store.ts";

const { signal } = new AbortController();
const SITE = tenancyOf({ kind: "site" });

async function all(storage: ReturnType<typeof createMemoryStorage>): Promise<Resource[]> {
  const found: Resource[] = [];
  await using snapshot = await storage.snapshot();
  for await (const resource of snapshot) found.push(resource);
  return found;
}

function byName(projects: readonly { readonly account: string; readonly project: string }[]) {
  return projects.toSorted((a, b) => a.project.localeCompare(b.project));
}

it("names the servers, workers and locked stacks that give signs of life, and none that died", async () => {
  const storage = createMemoryStorage();
  const clock = createManualClock();
  expect(await findLiveProcesses(storage, { clock, signal })).toEqual([]);

  const acquire = async (owner: string, name: string, tenancy = SITE) =>
    createLeases({ storage, owner, clock }).acquire({ tenancy, name });
  const server = await acquire("one", `${WORKER_LEASE}one`);
  const worker = await acquire("tok.two", `${WORKER_LEASE}tok.two`);
  const project = tenancyOf({ kind: "project", account: "acme", project: "web" });
  const command = await acquire("three", "01STACK", project);
  const { put } = createRunFixture(storage);
  const keys = { keyIds: [], release: "1.2.3", clock: undefined };
  await put(SERVER_KINDS.serverKeys, { tenancy: SITE, name: "one" }, keys);
  // One that was killed: its fence stays, and is not renewed.
  const dead = createManualClock();
  await createLeases({ storage, owner: "dead", clock: dead }).acquire({
    tenancy: SITE,
    name: `${WORKER_LEASE}dead`,
  });
  const asked = findLiveProcesses(storage, { clock, signal });
  const progress = { isDone: false };
  void asked.finally(() => (progress.isDone = true));
  while (!progress.isDone) await clock.advance(250);
  const found = await asked;
  expect(found.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { kind: "work", name: "01STACK", release: undefined },
    { kind: "server", name: "one", release: "1.2.3" },
    { kind: "worker", name: "tok.two", release: undefined },
  ]);
  for (const lease of [server, worker, command]) await lease.release();
});

it("a restored store has its projects with runs frozen and its logins ended, in the step in which it appears", async () => {
  const { storage, parts, clock, stack, enqueue, put } = createRunFixture();
  await enqueue(await stack("one"), "one", Run_Mode.MODE_APPLY);
  const account = tenancyOf({ kind: "account", account: "acme" });
  const login = SERVER_KINDS.loginSession.codec.decode(new Uint8Array());
  await put(SERVER_KINDS.loginSession, { tenancy: account, name: "a" }, login);
  // What an administrator let pass before, and a freeze that has ended by the time of the restore.
  const run = await enqueue(await stack("two"), "two", Run_Mode.MODE_APPLY);
  await overrideFreeze(parts, run, { actor: "ann", reason: "urgent" });
  const past = { account: "acme", project: "past" };
  await freeze(parts, past, { actor: "ann", reason: "a weekend", forMs: 1 });
  // A project that a user has frozen, and one without runs.
  const own = { account: "acme", project: "own" };
  const queue = SERVER_KINDS.queue.codec.decode(new Uint8Array());
  await put(SERVER_KINDS.queue, stackPlace({ ...own, stack: "01B" }), queue);
  await freeze(parts, own, { actor: "ann", reason: "a holiday" });
  await freeze(
    parts,
    { account: "acme", project: "idle", stack: "01A" },
    {
      actor: "ann",
      reason: "a test",
    },
  );

  const amend = new RestoredStore({ reason: "restored from monday", atMs: clock.wallMs() });
  const copy = createMemoryStorage();
  await using restore = await copy.restore();
  let count = 0;
  const write = async (resource: Resource) =>
    restore.apply({ ...resource, version: `copy-${(count += 1)}` });
  for (const resource of await all(storage)) {
    const kept = amend.resource(resource);
    if (kept !== undefined) await write(kept);
  }
  for (const added of amend.added()) await write(added);
  await restore.commit();
  const frozen = [past, { account: "acme", project: "web" }];
  expect(byName(amend.projects)).toEqual(frozen);
  expect(amend.logins).toBe(1);
  const runs = (await all(copy)).filter(({ id }) => id.type.kind === "Run");
  expect(runs.map((one) => decodeRecord(RUN_KIND, one).freezeOverride)).toEqual([
    undefined,
    undefined,
  ]);
  const kinds = (await all(copy)).map(({ id }) => id.type.kind);
  expect(kinds).not.toContain("LoginSession");
  expect(kinds.filter((kind) => kind === "Freeze")).toHaveLength(4);

  expect(await thawRestored(copy, { account: "other", signal })).toEqual([]);
  expect(byName(await thawRestored(copy, { signal }))).toEqual(frozen);
  expect(await thawRestored(copy, { signal })).toEqual([]);
  const left = (await all(copy)).filter(({ id }) => id.type.kind === "Freeze");
  expect(left.map(({ id }) => id.tenancy.namespace).toSorted()).toEqual(["idle", "own"]);
});

it("names what a release cannot read: kinds and forms of a newer one, and damaged records", async () => {
  const inner = createMemoryStorage();
  const storage = decayedStore(inner, ({ name }) => name === "decayed");
  const { stack, damage, put } = createRunFixture(inner);
  await stack("one");
  const sound = await examineRecords(storage, signal);
  expect(sound).toMatchObject({ unreadable: { count: 0 }, damaged: { count: 0 } });
  expect(sound.unknownKinds.size).toBe(0);

  const tenancy = tenancyOf({ kind: "account", account: "acme" });
  await damage(SERVER_KINDS.team, { tenancy, name: "other" });
  const team = SERVER_KINDS.team.codec.decode(new Uint8Array());
  await put(SERVER_KINDS.team, { tenancy, name: "decayed" }, team);
  const newer = (group: string, kind: string): Resource => ({
    id: { uid: randomUUID(), name: "x", type: { group, groupVersion: "v1", kind }, tenancy },
    version: "",
    generation: "g",
    metadata: {},
    status: {},
  });
  await inner.writeCAS(newer("stackwright", "NextYear"));
  // Records of others are none of ours.
  await inner.writeCAS(newer("elsewhere", "Thing"));
  const found = await examineRecords(storage, signal);
  expect(found).toEqual({
    records: sound.records + 4,
    unknownKinds: new Map([["NextYear", 1]]),
    unreadable: { count: 1, names: ["Team acme/~account other"] },
    damaged: { count: 1, names: ["Team acme/~account decayed"] },
  });
});
