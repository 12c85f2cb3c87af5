import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startCutProxy } from "./testing/cut-proxy.ts";
import { checkRunHistory, type ObservedRun } from "./testing/run-history.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// The store of the server that applies a run is slower than its lease is long, and another server has it as fast as ever.

const MAIN = join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const STORE = process.env["TEST_POSTGRES_URL"];
/** Each way: a renewal has its answer after 24 s, and a lease lasts 15 s. */
const DELAY_MS = 12_000;
const WAITING = { timeout: 180_000, interval: 250 };

it("a server whose store is slower than its lease loses it loudly, and nothing is applied twice", {
  retry: 0,
  timeout: 600_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  if (STORE === undefined) {
    context.skip("TEST_POSTGRES_URL is not set");
    return;
  }
  const scratch = await mkdtempDisposable(join(tmpdir(), "slow-store-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const lab = join(cwd, "lab");
  await mkdir(lab);
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(join(cwd, "rc"), `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  await writeFile(join(cwd, "key"), "5a".repeat(32), { mode: 0o600 });
  const key = ["--key-file", "key"];
  const account = ["--account", `a${randomBytes(8).toString("hex")}`];
  const bootstrap = [MAIN, "bootstrap", "--again", "--store", STORE, ...key, ...account];
  const { token } = JSON.parse(
    execFileSync(process.execPath, bootstrap, { cwd, encoding: "utf8" }),
  ) as { readonly token: string };
  const { hostname: host, port } = new URL(STORE);
  const proxy = await startCutProxy({ host, port: Number(port) });
  onTestFinished(async () => proxy[Symbol.asyncDispose]());
  const behind = new URL(STORE);
  behind.port = String(proxy.port);
  const env = { TF_CLI_CONFIG_FILE: join(cwd, "rc") };
  const start = async (name: string, store: string) => {
    const args = ["--store", store, ...key, "--run-directory", name, "--storage-port", "0"];
    return startServerProcess(MAIN, args, { cwd, env });
  };
  const slow = await start("slow", behind.href);
  const path = { project: "default", stack: "one" };
  const request = async (server: string, names: readonly string[], fault: string) => {
    const client = createServerClient({ server, token });
    const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": templateOf(lab, names, fault) })));
    const { digest } = (await client.createConfiguration({ ...path, body })).data;
    const wanted = { configuration: digest, auto_apply: true };
    return (await client.createRun({ ...path, body: wanted })).data.id;
  };
  await createServerClient({ server: slow.url, token }).createStack({
    project: "default",
    body: { name: "one" },
  });
  const wait = join(cwd, "create");
  const first = await request(slow.url, ["a", "b"], `wait-create:${wait}`);
  await expect.poll(async () => readdir(cwd), WAITING).toContain("create.waits");

  proxy.slow(DELAY_MS);
  const fast = await start("fast", STORE);
  const client = createServerClient({ server: fast.url, token });
  const phaseOf = async (run: string) => (await client.showRun({ ...path, run })).data.phase;
  await expect.poll(async () => phaseOf(first), WAITING).toBe("partially_applied");
  // The call that ended with the lease is not made again until a user says what became of it; what does not need it is.
  const second = await request(fast.url, ["a", "c"], "");
  await expect
    .poll(async () => phaseOf(second), WAITING)
    .toMatch(/^(?:applied|partially_applied)$/);
  proxy.slow(0);
  await writeFile(wait, "");
  const metrics = async () => (await fetch(`${slow.url}/metrics`)).text();
  await expect.poll(metrics, WAITING).toMatch(/^stackwright_leases_lost_total [1-9]/m);
  expect(slow.child.exitCode).toBe(null);

  const observed: ObservedRun[] = [];
  for (const run of [first, second]) {
    const events = [];
    for await (const event of client.followRun({ ...path, run })) events.push(event);
    observed.push({ ...(await client.showRun({ ...path, run })).data, stack: "one", events });
  }
  expect(checkRunHistory(observed)).toEqual([]);
  const files = (await readdir(lab)).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(files.map(async (file) => readFile(join(lab, file), "utf8")));
  const names = texts.map((text) => (JSON.parse(text) as { name: string }).name).toSorted();
  expect(names).toEqual(["one.a", "one.c"]);
});

/** Objects, of which the last one has a fault. */
function templateOf(lab: string, names: readonly string[], fault: string): string {
  const objects = names.map((name, index) => {
    const last =
      index === names.length - 1 && fault !== "" ? `fault = ${JSON.stringify(fault)}` : "";
    return `
resource "lab_object" "${name}" {
  name = "one.${name}"
  ${last}
}
`;
  });
  return `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(lab)}
}
${objects.join("")}`;
}
