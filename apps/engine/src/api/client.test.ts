import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { createServerClient, type ServerClient } from "@stackwright/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { serve } from "../serve.ts";
import { tarOf } from "../testing/tar-of.ts";

const PLACE = { project: "web", stack: "one" };
const MAIN = 'resource "terraform_data" "a" { input = "x" }';
const README = join(import.meta.dirname, "../../../../packages/client/README.md");

/** A server on a store, and a client with its first token. */
async function start(kind: "memory" | "sqlite") {
  const scratch = await mkdtempDisposable(join(tmpdir(), "client-"));
  onTestFinished(() => scratch.remove());
  const file = join(scratch.path, "first.json");
  const store = kind === "memory" ? "memory:" : `sqlite:${join(scratch.path, "data")}`;
  const server = await serve(
    { store, port: 0, bootstrapFile: file, logLevel: "silent", executor: "in-process" },
    { directory: scratch.path, env: {} },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(file, "utf8")) as BootstrapCredentials;
  return { url: server.url, token, client: createServerClient({ server: server.url, token }) };
}

async function runOf(client: ServerClient): Promise<string> {
  await client.createStack({ project: "web", body: { name: "one" } });
  const archive = gzipSync(tarOf({ "main.tf": MAIN }));
  const streamed = async function* () {
    yield archive.subarray(0, 10);
    yield archive.subarray(10);
  };
  const first = await client.createConfiguration({ ...PLACE, body: archive });
  const again = await client.createConfiguration({ ...PLACE, body: streamed });
  expect([first.status, again.status]).toEqual([201, 200]);
  const body = { configuration: first.data.digest, message: "by the client" };
  const input = { ...PLACE, body, idempotencyKey: "k" };
  const made = await client.createRun(input);
  const replayed = await client.createRun(input);
  expect([made.isReplay, replayed.isReplay]).toEqual([false, true]);
  expect(replayed.data).toEqual(made.data);
  return made.data.id;
}

describe.each(["memory", "sqlite"] as const)("the client on a server with %s", (kind) => {
  it("takes a run from its upload to its end", { timeout: 60_000 }, async () => {
    const { client } = await start(kind);
    const id = await runOf(client);
    const run = { ...PLACE, run: id };
    const seen: number[] = [];
    for await (const { seq, type, ...event } of client.followRun(run)) {
      seen.push(seq);
      if (type !== "phase-change" || event["to"] !== "awaiting_approval") continue;
      const wrong = { plan_digest: "0".repeat(64) };
      await expect(client.approveRun({ ...run, body: wrong })).rejects.toMatchObject({
        code: "plan_changed",
        retryable: false,
      });
      const { data: plan } = await client.showPlan(run);
      await client.approveRun({ ...run, body: { plan_digest: String(plan["digest"]) } });
    }
    expect(seen).toEqual(seen.map((_seq, index) => index + 1));
    expect((await client.showRun(run)).data).toMatchObject({
      phase: "applied",
      message: "by the client",
    });
    const again: number[] = [];
    for await (const { seq } of client.followRun({ ...run, follow: false })) again.push(seq);
    expect(again).toEqual(seen);
    // After the end nothing follows.
    const rest: unknown[] = [];
    for await (const event of client.followRun({ ...run, after: seen.length })) rest.push(event);
    expect(rest).toEqual([]);
    await expect(client.cancelRun(run)).rejects.toMatchObject({ code: "run_ended" });
  });

  it("replaces a variable at the version that was read", async () => {
    const { client } = await start(kind);
    await client.createStack({ project: "web", body: { name: "one" } });
    const variable = { ...PLACE, category: "terraform", key: "word" } as const;
    const first = await client.setVariable({ ...variable, body: { value: "a" } });
    await expect(client.setVariable({ ...variable, body: { value: "b" } })).rejects.toMatchObject({
      code: "precondition_required",
    });
    const ifMatch = first.etag;
    await client.setVariable({ ...variable, ifMatch, body: { value: "b" } });
    await expect(client.deleteVariable({ ...variable, ifMatch })).rejects.toMatchObject({
      code: "changed",
    });
    expect((await client.deleteVariable({ ...variable, ifMatch: "*" })).status).toBe(204);
    expect((await client.listVariables(PLACE)).data.variables).toEqual([]);
  });
});

it("the client reads the events so far of a run that waits", { timeout: 60_000 }, async () => {
  const { client } = await start("memory");
  const run = { ...PLACE, run: await runOf(client) };
  await expect
    .poll(async () => (await client.showRun(run)).data.phase, { timeout: 20_000 })
    .toBe("awaiting_approval");
  const types: string[] = [];
  for await (const { type } of client.followRun({ ...run, follow: false })) types.push(type);
  expect(types.at(-1)).toBe("phase-change");
});

it("the client reads all pages", { timeout: 60_000 }, async () => {
  const { client } = await start("memory");
  const id = await runOf(client);
  const { configuration } = (await client.showRun({ ...PLACE, run: id })).data;
  for (let count = 0; count < 4; count += 1) {
    await client.createRun({ ...PLACE, body: { configuration, mode: "plan_only" } });
  }
  const numbers: number[] = [];
  for await (const { number } of client.each("ListRuns", { ...PLACE, limit: 2 })) {
    numbers.push(number);
  }
  expect(numbers).toEqual([1, 2, 3, 4, 5]);
});

it("the example of the README runs on a server", { timeout: 60_000 }, async () => {
  const { url, token } = await start("memory");
  const [, code = ""] = /^```ts\n(.*?)^```$/ms.exec(await readFile(README, "utf8")) ?? [];
  // As a module of this package, which has the client.
  const running = promisify(execFile)(
    process.execPath,
    ["--input-type=module-typescript", "-e", code],
    {
      cwd: import.meta.dirname,
      env: { STACKWRIGHT_SERVER: url, STACKWRIGHT_TOKEN: token },
    },
  );
  const { stdout } = await running;
  expect(stdout).toBe("");
  const shown = await createServerClient({ server: url, token }).showStack({
    project: "default",
    stack: "example",
  });
  expect(shown.data.name).toBe("example");
});
