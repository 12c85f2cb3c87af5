import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@stackwright/base/logger";
import { createStoredKeys } from "@stackwright/core";
import { VcsConnection, VcsConnection_Kind } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import { createGitPlace } from "../testing/git-place.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { startFakeGitea } from "../testing/start-fake-gitea.ts";
import { sealSecret } from "./connection-secrets.ts";
import { OutgoingHosts } from "./provider/outgoing-hosts.ts";
import type { VcsParts } from "./vcs-parts.ts";
import { connectionPlace } from "./vcs-places.ts";
import { VcsWorker } from "./vcs-worker.ts";

const REFERENCE = { account: "acme", project: "web", name: "infra" };
const MINUTE_MS = 60_000;

/** A connection of an earlier release, without the task of a look, and servers on one store whose clock stands still. */
async function start(settings: Partial<VcsConnection> = {}, servers = 1) {
  const place = await createGitPlace();
  const storage = createMemoryStorage();
  const { parts, put, clock } = createRunFixture(storage);
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  const sealed = await transact(parts, async (tx) =>
    sealSecret(tx, keys, REFERENCE, ["ID", "webhook_secret"], "a-secret-of-the-webhook"),
  );
  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "HEAD:main", "HEAD:stale");
  const connection = VcsConnection.fromPartial({
    id: "ID",
    name: REFERENCE.name,
    kind: VcsConnection_Kind.KIND_GENERIC,
    repositoryUrl: `file://${place.bare}`,
    branch: "main",
    webhookSecret: sealed,
    ...settings,
  });
  await put(SERVER_KINDS.vcsConnection, connectionPlace(REFERENCE), connection);
  const workers: VcsWorker[] = [];
  for (let at = 0; at < servers; at += 1) {
    const directory = join(place.folder, `copies-${at}`);
    await mkdir(directory);
    const given = {
      ...parts,
      keys,
      logger: silentLogger,
      env: place.env,
      directory,
      localFolders: [place.repositories],
      hosts: new OutgoingHosts(["127.0.0.1"]),
      maxCopyBytes: 1024 ** 3,
    };
    workers.push(new VcsWorker(given as unknown as VcsParts & { maxCopyBytes: number }));
  }
  onTestFinished(async () => {
    for (const worker of workers) await worker[Symbol.asyncDispose]();
  });
  const all = async <M>(kind: RecordKind<M>): Promise<readonly M[]> => {
    const found = await storage.list("strong", kind.type, projectTenancy(REFERENCE), "");
    return found.map((one) => decodeRecord(kind, one));
  };
  return {
    place,
    put,
    connection,
    /** Time goes by in steps, in which programs may end. */
    later: async (ms: number): Promise<void> => {
      for (let gone = 0; gone < ms; gone += 10_000) {
        await clock.advance(10_000);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    heads: async () => {
      const pulls = await all(SERVER_KINDS.vcsPullRequest);
      return Object.fromEntries(pulls.map(({ id, head, state }) => [id, `${head} ${state}`]));
    },
    isChecked: async () => (await all(SERVER_KINDS.vcsBranch))[0]?.check !== undefined,
    branch: async () => (await all(SERVER_KINDS.vcsBranch))[0]?.commit,
    tasks: async () => all(SERVER_KINDS.vcsTask),
  };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Until something holds, while time goes by; resolves with the time that went by at most. */
async function until({ later }: Started, holds: () => Promise<boolean>): Promise<number> {
  for (let minutes = 1; minutes < 60; minutes += 1) {
    await later(MINUTE_MS);
    // The programs of git take time of their own.
    for (let at = 0; at < 10; at += 1) {
      if (await holds()) return minutes * MINUTE_MS;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  return Number.POSITIVE_INFINITY;
}

it("finds pushes to a repository without an API that no delivery reported", {
  timeout: 60_000,
}, async () => {
  const started = await start();
  const { place, branch, heads, tasks } = started;
  const first = await place.git("rev-parse", "HEAD");
  expect(await until(started, async () => (await branch()) === first)).toBeLessThan(60 * MINUTE_MS);
  await until(started, started.isChecked);
  const head = await place.commit({ "one.txt": "1" });
  await place.git("push", "--quiet", "origin", "HEAD:feature/words");
  const found = async () => (await heads())["feature/words"] === `${head} 1`;
  expect(await until(started, found)).toBeLessThan(60 * MINUTE_MS);
  const next = await place.commit({ "one.txt": "2" });
  await place.git("push", "--quiet", "origin", "HEAD:feature/words", "HEAD:main");
  expect(await until(started, async () => (await branch()) === next)).toBeLessThan(60 * MINUTE_MS);
  const merged = async () => (await heads())["feature/words"] === `${head} 2`;
  expect(await until(started, merged)).toBeLessThan(60 * MINUTE_MS);
  // What was there before the first look is planned once it changes.
  expect(Object.keys(await heads())).toEqual(["feature/words"]);
  const late = await place.commit({ "one.txt": "3" });
  await place.git("push", "--quiet", "origin", "HEAD:stale");
  const changed = async () => (await heads())["stale"] === `${late} 1`;
  expect(await until(started, changed)).toBeLessThan(60 * MINUTE_MS);
  await place.git("push", "--quiet", "origin", "--delete", "stale");
  const gone = async () => (await heads())["stale"] === `${late} 3`;
  expect(await until(started, gone)).toBeLessThan(60 * MINUTE_MS);
  expect(await tasks()).toMatchObject([{ check: true, attempts: 0 }]);
});

it("finds pull requests of an API that no delivery reported, and what became of them", {
  timeout: 60_000,
}, async () => {
  const gitea = await startFakeGitea("change");
  const started = await start({
    kind: VcsConnection_Kind.KIND_GITEA,
    apiUrl: gitea.url,
    repository: "acme/infra",
  });
  const { place, heads, branch } = started;
  await until(started, async () => (await branch()) !== undefined);
  await until(started, started.isChecked);
  gitea.shown.head = await place.commit({ "one.txt": "1" });
  await place.git("push", "--quiet", "origin", "HEAD:change", "HEAD:refs/pull/1/head");
  const open = async () => (await heads())["1"] === `${gitea.shown.head} 1`;
  expect(await until(started, open)).toBeLessThan(60 * MINUTE_MS);
  gitea.shown.closed = true;
  const closed = async () => (await heads())["1"] === `${gitea.shown.head} 3`;
  expect(await until(started, closed)).toBeLessThan(60 * MINUTE_MS);
  gitea.shown.closed = false;
  expect(await until(started, open)).toBeLessThan(60 * MINUTE_MS);
});

it("asks a Git server once in five minutes, however many servers there are", {
  timeout: 60_000,
}, async () => {
  const gitea = await startFakeGitea("change");
  const settings = { kind: VcsConnection_Kind.KIND_GITEA, apiUrl: gitea.url };
  const started = await start({ ...settings, repository: "acme/infra" }, 3);
  await until(started, async () => (await started.branch()) !== undefined);
  const before = gitea.received.length;
  await started.later(60 * MINUTE_MS);
  const asked = gitea.received.slice(before);
  expect(asked.length).toBeGreaterThanOrEqual(2);
  expect(asked.length).toBeLessThanOrEqual(16);
  expect(asked.every((request) => request.startsWith("GET "))).toBe(true);
  expect(asked.every((request) => request.includes("/pulls?"))).toBe(true);
});

it("goes on after a look that failed, no sooner, and keeps what failed", {
  timeout: 60_000,
}, async () => {
  const started = await start({ repositoryUrl: "file:///nowhere/infra.git" });
  const { put, connection, place, tasks, branch } = started;
  const failed = async () => (await tasks()).some(({ check, attempts }) => check && attempts > 0);
  expect(await until(started, failed)).toBeLessThan(60 * MINUTE_MS);
  await started.later(20 * MINUTE_MS);
  const [{ attempts } = { attempts: 0 }] = await tasks();
  expect(attempts).toBeLessThanOrEqual(7);
  const repaired = { ...connection, repositoryUrl: `file://${place.bare}` };
  await put(SERVER_KINDS.vcsConnection, connectionPlace(REFERENCE), repaired);
  expect(await until(started, async () => (await branch()) !== undefined)).toBeLessThan(
    60 * MINUTE_MS,
  );
  expect(await tasks()).toMatchObject([{ check: true, attempts: 0 }]);
});
