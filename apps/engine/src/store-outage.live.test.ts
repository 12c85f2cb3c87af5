import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient, isClientError } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startCutProxy } from "./testing/cut-proxy.ts";
import { checkRunHistory, type ObservedRun } from "./testing/run-history.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// The database of a server ends in the middle of an apply, and starts again after longer than a lease lasts.

const MAIN = join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const DATABASE = process.env["TEST_POSTGRES_URL"];
/** A lease lasts 15 s. In the soak the database is away for a minute. */
const AWAY_MS = Number(process.env["STACKWRIGHT_RUNS"] ?? 1) > 1 ? 60_000 : 16_000;
const WAITING = { timeout: 120_000, interval: 100 };

const templateOf = (lab: string, name: string, fault = ""): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" { directory = ${JSON.stringify(lab)} }
resource "lab_object" "first" { name = "${name}.first" }
resource "lab_object" "second" {
  name = "${name}.second"
  tags = { first = lab_object.first.id }
  ${fault}
}
`;

it("a server whose database is away says so, lives, and continues its runs when it is back", {
  retry: 0,
  timeout: 600_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  if (DATABASE === undefined) return context.skip(true, "TEST_POSTGRES_URL names no server");
  const scratch = await mkdtempDisposable(join(tmpdir(), "store-outage-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const lab = join(cwd, "lab");
  await mkdir(lab);
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(join(cwd, "rc"), `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
  const key = ["--key-file", "key"];
  const account = ["--account", `a${randomBytes(8).toString("hex")}`];
  const bootstrap = [MAIN, "bootstrap", "--again", "--store", DATABASE, ...key, ...account];
  const { token } = JSON.parse(
    execFileSync(process.execPath, bootstrap, { cwd, encoding: "utf8" }),
  ) as { readonly token: string };
  const { hostname: host, port } = new URL(DATABASE);
  await using proxy = await startCutProxy({ host, port: Number(port) });
  const behind = new URL(DATABASE);
  behind.port = String(proxy.port);
  const server = await startServerProcess(MAIN, ["--store", behind.href, ...key], {
    cwd,
    env: { TF_CLI_CONFIG_FILE: join(cwd, "rc") },
  });
  const client = createServerClient({ server: server.url, token });

  const request = async (stack: string, fault?: string) => {
    const place = { project: "default", stack };
    const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": templateOf(lab, stack, fault) })));
    const { digest } = (await client.createConfiguration({ ...place, body })).data;
    const wanted = { configuration: digest, auto_apply: true };
    return { ...place, run: (await client.createRun({ ...place, body: wanted })).data.id };
  };
  /** The phase of a run; undefined while the server has no store. */
  const phaseOf = async (run: Awaited<ReturnType<typeof request>>) => {
    try {
      return (await client.showRun(run)).data.phase;
    } catch (error) {
      if (isClientError(error) && error.retryable) return undefined;
      throw error;
    }
  };
  const objects = async (): Promise<string[]> => {
    const files = (await readdir(lab)).filter((name) => name.endsWith(".json"));
    const texts = await Promise.all(files.map(async (file) => readFile(join(lab, file), "utf8")));
    return texts.map((text) => (JSON.parse(text) as { name: string }).name).toSorted();
  };

  for (const name of ["one", "two"])
    await client.createStack({ project: "default", body: { name } });
  const cut = await request("one", 'fault = "hang-create"');
  await expect.poll(objects, WAITING).toEqual(["one.first"]);
  await expect.poll(async () => phaseOf(cut), WAITING).toBe("applying");
  // They wait for the first one, and for a worker.
  const next = await request("one");
  const other = await request("two");

  const back = proxy.refuse(AWAY_MS);
  const said = async (path: string) => {
    const answer = await fetch(server.url + path, {
      headers: { authorization: `Bearer ${token}` },
    });
    return [answer.status, ((await answer.json()) as { code?: string }).code];
  };
  const stack = "/api/v1/projects/default/stacks/one";
  await expect.poll(async () => said(stack), WAITING).toEqual([503, "store_unavailable"]);
  expect((await said("/readyz"))[0]).toBe(503);
  expect((await said("/healthz"))[0]).toBe(200);
  await back;

  await expect.poll(async () => (await said("/readyz"))[0], WAITING).toBe(200);
  await expect.poll(async () => phaseOf(cut), WAITING).toBe("partially_applied");
  await expect.poll(async () => phaseOf(other), WAITING).toBe("applied");
  await expect.poll(async () => phaseOf(next), WAITING).toMatch(/^(?:applied|no_changes)$/);
  expect(server.child.exitCode).toBe(null);
  const observed: ObservedRun[] = [];
  for (const run of [cut, next, other]) {
    const events = [];
    for await (const event of client.followRun(run)) events.push(event);
    observed.push({ ...(await client.showRun(run)).data, stack: run.stack, events });
  }
  expect(checkRunHistory(observed)).toEqual([]);
  // Nothing was made twice; whether the create that hung has made its object is for a user to say.
  const expected = ["one.first", "two.first", "two.second"];
  expect((await objects()).filter((name) => name !== "one.second")).toEqual(expected);
});
