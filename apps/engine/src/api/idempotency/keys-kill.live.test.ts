import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { type ServerProcess, startServerProcess } from "../../testing/start-server-process.ts";
import { tarOf } from "../../testing/tar-of.ts";

// Requests with keys at several servers of one store, of which one is killed while it executes them.

const MAIN = join(import.meta.dirname, "../../main.ts");
const STACKS = 6;
/** Requests of each kind that are sent at once. */
const REQUESTS = 24;
const STORES = [
  ["PostgreSQL", process.env["TEST_POSTGRES_URL"]],
  ["etcd", etcdAddress()],
] as const;

interface Answer {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly replayed: boolean;
}

async function startServers(store: string) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "keys-kill-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
  const common = ["--store", store, "--key-file", "key"];
  const account = ["--account", `a${randomBytes(8).toString("hex")}`];
  const { token } = JSON.parse(
    execFileSync(process.execPath, [MAIN, "bootstrap", "--again", ...common, ...account], {
      cwd,
      encoding: "utf8",
    }),
  ) as { readonly token: string };
  const limits = ["--api-rate-per-second", "100000", "--api-rate-burst", "100000"];
  const start = async (): Promise<ServerProcess> =>
    startServerProcess(MAIN, [...common, ...limits, "--executor", "none"], { cwd });
  const [first, second] = [await start(), await start()];
  const client = createServerClient({ server: first.url, token });
  /** Undefined where no answer came. */
  const post = async (
    { url }: ServerProcess,
    path: string,
    body: object,
    key: string,
  ): Promise<Answer | undefined> => {
    try {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify(body),
      });
      const text = await answer.text();
      const { code = "" } = JSON.parse(text) as { readonly code?: string };
      const replayed = answer.headers.get("idempotency-replayed") === "true";
      return { status: answer.status, code, text, replayed };
    } catch {
      return undefined;
    }
  };
  return { first, second, client, post };
}

it.for(STORES)(
  "fifty equal requests at two servers on %s have one effect and equal answers",
  { retry: 0, timeout: 120_000 },
  async ([name, store], context) => {
    if (store === undefined) return context.skip(true, `the environment names no ${name}`);
    const { first, second, client, post } = await startServers(store);
    const place = { project: "default", stack: "one" };
    await client.createStack({ project: "default", body: { name: "one" } });
    const content = Uint8Array.from(gzipSync(tarOf({ "main.tf": 'output "a" { value = 1 }\n' })));
    const { digest } = (await client.createConfiguration({ ...place, body: content })).data;
    await client.createUser({ body: { name: "bot", service: true } });
    const at = "/projects/default/stacks/one";
    for (const [path, body] of [
      [`${at}/runs`, { configuration: digest }],
      [`${at}/schedules`, { mode: "plan_only", cron: "0 3 * * *" }],
      ["/tokens", { role: "viewer", user: "bot", description: "fifty" }],
    ] as const) {
      const key = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 50 }, async (_, index) =>
          post(index % 2 === 0 ? first : second, path, body, key),
        ),
      );
      const done = answers.filter((one) => one?.status === 201);
      expect(new Set(done.map((one) => one?.text)).size).toBe(1);
      expect(done.filter((one) => one?.replayed === false)).toHaveLength(1);
      const others = answers.filter((one) => one?.status !== 201);
      expect(others.filter((one) => one?.code !== "in_progress")).toEqual([]);
      const again = await post(second, path, body, key);
      expect(again).toMatchObject({ status: 201, text: done[0]?.text, replayed: true });
    }
    expect((await client.listRuns(place)).data.runs).toHaveLength(1);
    expect((await client.listSchedules(place)).data.schedules).toHaveLength(1);
    const { tokens } = (await client.listTokens({})).data;
    expect(tokens.filter(({ description }) => description === "fifty")).toHaveLength(1);
  },
);

it.for(STORES)(
  "a request that a server on %s executes as it is killed has one effect at most, and its repeat says which",
  { retry: 0, timeout: 300_000 },
  async ([name, store], context) => {
    if (store === undefined) return context.skip(true, `the environment names no ${name}`);
    const { first: stays, second: killed, client, post } = await startServers(store);
    await client.createUser({ body: { name: "bot", service: true } });
    for (let index = 0; index < STACKS; index += 1) {
      await client.createStack({ project: "default", body: { name: `s${index}` } });
    }
    const schedules = Array.from({ length: REQUESTS }, (_, index) => {
      const path = `/projects/default/stacks/s${index % STACKS}/schedules`;
      const key = randomUUID();
      return { path, key, body: { mode: "plan_only", cron: "0 3 * * *", message: key } };
    });
    const tokens = Array.from({ length: REQUESTS }, () => {
      const key = randomUUID();
      return { path: "/tokens", key, body: { role: "viewer", user: "bot", description: key } };
    });
    const requests = [...schedules, ...tokens];
    let answered = 0;
    const answers = await Promise.all(
      requests.map(async ({ path, body, key }) => {
        const answer = await post(killed, path, body, key);
        answered += 1;
        // In the midst of the others.
        if (answered === 8) killed.child.kill("SIGKILL");
        return answer;
      }),
    );
    await killed.ended;
    const outcomes = new Map<string, Answer | undefined>();
    for (const [index, { path, body, key }] of requests.entries()) {
      const before = answers[index];
      let again: Answer | undefined;
      await expect
        .poll(
          async () => {
            again = await post(stays, path, body, key);
            return again?.code === "in_progress";
          },
          { timeout: 90_000, interval: 2_000 },
        )
        .toBe(false);
      // What was answered is answered alike.
      if (before !== undefined) expect(again).toEqual({ ...before, replayed: true });
      outcomes.set(key, again);
    }
    const counts = new Map<string, number>();
    const count = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
    for (let index = 0; index < STACKS; index += 1) {
      const { data } = await client.listSchedules({ project: "default", stack: `s${index}` });
      for (const { message } of data.schedules) count(message);
    }
    for (const { description } of (await client.listTokens({})).data.tokens) count(description);
    let lost = 0;
    for (const [at, { key }] of requests.entries()) {
      const outcome = outcomes.get(key);
      if (outcome?.code === "answer_unavailable") {
        lost += 1;
        // Of a schedule the record is in the batch that makes it; a token is made after its record.
        const least = at < schedules.length ? 1 : 0;
        expect(counts.get(key) ?? 0).toBeGreaterThanOrEqual(least);
        expect(counts.get(key) ?? 0).toBeLessThanOrEqual(1);
      } else {
        expect([outcome?.status, counts.get(key)]).toEqual([201, 1]);
      }
    }
    await context.annotate(
      `${answers.filter((one) => one === undefined).length} requests without an answer, of which ${lost} had begun`,
      "notice",
    );
  },
);

/** A store of its own in the cluster that the environment names. */
function etcdAddress(): string | undefined {
  const endpoint = process.env["TEST_ETCD_ENDPOINTS"];
  const host = endpoint === undefined ? undefined : new URL(endpoint).host;
  return host && `etcd://${host}/keys-${randomBytes(8).toString("hex")}`;
}
