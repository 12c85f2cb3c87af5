import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Two servers on one PostgreSQL get more requests at once than their limits allow: docs/limits.md has each number.

const MAIN = join(import.meta.dirname, "main.ts");
/** Requests of one credential that each of the servers takes at once. */
const BURST = 150;
/** Requests beyond a limit. */
const BEYOND = 6;
/** Requests that are open at once. */
const OPEN = 24;

type Body = Readonly<Record<string, unknown>>;

/** Two servers of one store, and one credential with an account of its own. */
async function start(store: string) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "limits-"));
  onTestFinished(() => scratch.remove());
  const key = join(scratch.path, "key");
  await writeFile(key, "5a".repeat(32), { mode: 0o600 });
  const account = `a${randomBytes(8).toString("hex")}`;
  const common = ["--store", store, "--key-file", key];
  const bootstrap = [MAIN, "bootstrap", "--again", ...common, "--account", account];
  const { token } = JSON.parse(String(execFileSync(process.execPath, bootstrap))) as {
    readonly token: string;
  };
  const rate = ["--api-rate-per-second", "1", "--api-rate-burst", String(BURST)];
  const options = [...common, ...rate, "--executor", "none"];
  const servers = await Promise.all(
    [1, 2].map(async () => startServerProcess(MAIN, options, { cwd: scratch.path })),
  );
  const send = async (
    server: number,
    method: string,
    path: string,
    {
      body,
      own = token,
    }: { readonly body?: Body | Uint8Array<ArrayBuffer>; readonly own?: string },
  ) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${servers[server % servers.length]?.url ?? ""}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${own}`,
        "client-request-id": randomUUID(),
        ...(body !== undefined && {
          "content-type": isBytes ? "application/gzip" : "application/json",
        }),
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status: answer.status, json, text };
  };
  const make = async (path: string, body: Body): Promise<Record<string, unknown>> => {
    const { status, json, text } = await send(0, "POST", path, { body });
    expect(status, text).toBe(201);
    return json;
  };
  /** A credential of its own, so that requests with it are limited apart from all others. */
  const credential = async (name: string): Promise<string> => {
    await make("/api/v1/users", { name, service: true });
    const role = { body: { role: "admin" } };
    expect((await send(0, "PUT", `/api/v1/roles/user/${name}`, role)).status).toBe(200);
    const own = String((await make("/api/v1/tokens", { role: "admin", user: name }))["token"]);
    // Users and roles of one server count up to a second later at the other one.
    await expect
      .poll(async () => (await send(1, "GET", "/api/v1/caller", { own })).json["roles"], {
        timeout: 20_000,
      })
      .not.toEqual(undefined);
    return own;
  };
  return { send, make, credential };
}

/** Runs some work so often, a bounded number at once; the results in order. */
async function atOnce<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: OPEN }, lane));
  return results;
}

it("two servers that are asked at once exceed none of their limits, and reach each", {
  timeout: 180_000,
}, async (context) => {
  const store = process.env["TEST_POSTGRES_URL"];
  context.skip(store === undefined, "TEST_POSTGRES_URL names no server");
  const { send, make, credential } = await start(store ?? "");
  const stacks = "/api/v1/projects/web/stacks";
  for (const name of ["one", "two"]) await make(stacks, { name });
  await atOnce(20 + BEYOND, async (index) =>
    make("/api/v1/projects/base/stacks", { name: `p${index}` }),
  );
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": "locals {}" })));
  const digests: string[] = [];
  for (const stack of ["one", "two"]) {
    const uploaded = await send(0, "POST", `${stacks}/${stack}/configurations`, { body: archive });
    digests.push(String(uploaded.json["digest"]));
  }
  const [one, two] = digests;
  await make("/api/v1/users", { name: "robot", service: true });
  const inWeb = "/api/v1/projects/web";
  const url = "https://hooks.example.com/a";
  const limits: readonly {
    readonly name: string;
    readonly most: number;
    readonly path: string;
    readonly body: (index: number) => Body;
    readonly refusal: number;
  }[] = [
    {
      name: "runs that wait",
      // One has its turn.
      most: 101,
      path: `${stacks}/one/runs`,
      body: () => ({ configuration: one }),
      refusal: 429,
    },
    {
      name: "runs that only plan",
      most: 20,
      path: `${stacks}/two/runs`,
      body: () => ({ configuration: two, mode: "plan_only" }),
      refusal: 429,
    },
    {
      name: "tokens of a user",
      most: 200,
      path: "/api/v1/tokens",
      body: () => ({ role: "viewer", user: "robot" }),
      refusal: 422,
    },
    {
      name: "schedules of a stack",
      most: 20,
      path: `${stacks}/one/schedules`,
      body: () => ({ cron: "0 3 * * *", mode: "plan_only" }),
      refusal: 422,
    },
    {
      name: "triggers of a stack",
      most: 20,
      path: `${stacks}/one/triggers`,
      body: (index) => ({ producer: { project: "base", stack: `p${index}` }, mode: "plan_only" }),
      refusal: 422,
    },
    {
      name: "variable sets of a project",
      most: 100,
      path: `${inWeb}/variable-sets`,
      body: (index) => ({ name: `set-${index}` }),
      refusal: 422,
    },
    {
      name: "variable sets of an account",
      most: 100,
      path: "/api/v1/variable-sets",
      body: (index) => ({ name: `set-${index}` }),
      refusal: 422,
    },
    {
      name: "destinations of a project",
      most: 20,
      path: `${inWeb}/notifications`,
      body: (index) => ({ name: `to-${index}`, kind: "webhook", url }),
      refusal: 422,
    },
    {
      name: "policy sets of an account",
      most: 50,
      path: "/api/v1/policy-sets",
      body: (index) => ({ name: `policy-${index}` }),
      refusal: 422,
    },
  ];
  for (const [at, { name, most, path, body, refusal }] of limits.entries()) {
    const own = await credential(`asks-${at}`);
    const answers = await atOnce(most + BEYOND, async (index) =>
      send(index, "POST", path, { body: body(index), own }),
    );
    const counts = Map.groupBy(answers, ({ status }) => status);
    const numbers = [...counts].map(([status, some]) => [status, some.length]);
    expect([name, Object.fromEntries(numbers)]).toEqual([name, { 201: most, [refusal]: BEYOND }]);
  }
  // Each server counts for itself: documented as requests per credential and server.
  const own = await credential("reads");
  const beganMs = Date.now();
  const reads = await atOnce(2 * BURST + 50, async (index) =>
    send(index, "GET", "/api/v1/caller", { own }),
  );
  const refilled = Math.ceil((Date.now() - beganMs) / 1_000) + 1;
  const taken = reads.filter(({ status }) => status === 200).length;
  expect(new Set(reads.map(({ status }) => status))).toEqual(new Set([200, 429]));
  expect(taken).toBeGreaterThan(BURST + refilled);
  expect(taken).toBeLessThanOrEqual(2 * (BURST + refilled));
});
