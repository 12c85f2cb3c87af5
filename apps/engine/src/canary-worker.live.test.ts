import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { canary, findCanaries, findCanariesInFolder } from "@stackwright/core/testing";
import { expect, it, onTestFinished } from "vitest";
import { noteAnswers, readAllRoutes } from "./testing/read-all-routes.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Secrets of every kind that runs of a server meet, with a real provider and a worker on another machine, and then each byte that server and
// worker wrote, stored, answered and logged.

const MAIN = join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const S = "/api/v1/projects/default/stacks/one";
const waiting = { timeout: 150_000, interval: 100 };

/** Variables of the stack, by what becomes of them. */
const KINDS = ["token", "attribute", "write_only", "lease", "url", "failed"] as const;

const templateOf = (lab: string, more: string): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
variable "token" { sensitive = true }
variable "attribute" { sensitive = true }
variable "url" { sensitive = true }
variable "failed" { sensitive = true }
variable "write_only" {
  sensitive = true
  ephemeral = true
}
variable "lease" { ephemeral = true }
provider "lab" {
  directory = ${JSON.stringify(lab)}
  token     = var.token
}
ephemeral "lab_lease" "one" { name = var.lease }
resource "lab_object" "a" {
  name             = "a"
  network          = { cidr = "10.0.0.0/8", secret = nonsensitive(var.attribute) }
  password         = "\${var.write_only}\${ephemeral.lab_lease.one.secret}"
  password_version = 1
}
resource "lab_object" "b" {
  name    = "b"
  tags    = { repeated = lab_object.a.network.secret }
  payload = { address = "https://user:\${var.url}@example.com/?token=\${urlencode(var.url)}" }
}
${more}
output "b" {
  value     = lab_object.b
  sensitive = true
}
`;
/** Ends with an error that names a secret, and with a provider that dies. */
const FAILING = `
resource "lab_object" "broken" {
  name  = "broken"
  tags  = { secret = var.failed, other = lab_object.b.id }
  fault = "fail-create"
}
resource "lab_object" "crash" {
  name  = "crash"
  tags  = { secret = var.failed, other = lab_object.b.id }
  fault = "crash-create"
}
`;

it("no byte of a server and its worker has a secret of a variable, a provider, an ephemeral value, a token or a key", {
  timeout: 400_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const scratch = await mkdtempDisposable(join(tmpdir(), "canary-worker-"));
  onTestFinished(() => scratch.remove());
  const written = join(scratch.path, "written");
  const outside = join(scratch.path, "outside");
  const lab = join(outside, "lab");
  await mkdir(written);
  await mkdir(lab, { recursive: true });
  const rc = join(outside, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  const key = Buffer.from(canary("key").slice(-32)).toString("hex");
  await writeFile(join(outside, "key"), key, { mode: 0o600 });
  const env = { TF_CLI_CONFIG_FILE: rc };
  const server = await startServerProcess(
    MAIN,
    [
      "--store",
      "sqlite:data",
      "--storage-port",
      "0",
      "--executor",
      "none",
      "--key-file",
      join(outside, "key"),
      "--bootstrap-file",
      join(outside, "first.json"),
      "--log-level",
      "trace",
    ],
    { cwd: written, env },
  );
  let printed = "";
  server.child.stdout.on("data", (chunk) => {
    printed += String(chunk);
  });
  const { token } = JSON.parse(await readFile(join(outside, "first.json"), "utf8")) as {
    readonly token: string;
  };
  const worker = await startWorkerProcess(MAIN, ["--server", server.url, "--log-level", "trace"], {
    cwd: written,
    env: { ...env, STACKWRIGHT_TOKEN: token },
  });
  worker.child.stdout.on("data", (chunk) => {
    printed += String(chunk);
  });
  const secrets = new Map<string, string>(KINDS.map((kind) => [kind, canary(kind)]));
  const canaries = [...secrets.values(), token, key];
  const client = createServerClient({ server: server.url, token });
  const { call, answers } = noteAnswers(server.url, token);
  const place = { project: "default", stack: "one" };
  await client.createStack({ project: "default", body: { name: "one" } });
  for (const [name, value] of secrets) {
    await call("PUT", `${S}/variables/terraform/${name}`, { value, sensitive: true });
  }
  const runs: string[] = [];
  const request = async (more: string, phases: RegExp): Promise<void> => {
    const text = templateOf(lab, more);
    const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const { digest } = (await client.createConfiguration({ ...place, body })).data;
    const wanted = { configuration: digest, auto_apply: true };
    const { id: run } = (await client.createRun({ ...place, body: wanted })).data;
    runs.push(run);
    const phaseOf = async (): Promise<string> =>
      (await client.showRun({ ...place, run })).data.phase;
    await expect.poll(phaseOf, waiting).toMatch(/^(?:applied|partially_applied|failed)$/);
    expect(await phaseOf(), JSON.stringify((await client.showRun({ ...place, run })).data)).toMatch(
      phases,
    );
  };
  await request("", /^applied$/);
  await request(FAILING, /^(?:failed|partially_applied)$/);

  expect(await readAllRoutes(call, runs)).toBeGreaterThan(60);
  expect(answers.find((text) => text.includes(`${runs[0]}/plan/view: `))).toContain("lab_object.a");

  worker.child.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  // The secrets arrived: what is not written was not left out either.
  const arrived = (await findCanariesInFolder(lab, canaries)).found.join("\n");
  for (const kind of ["write_only", "lease"]) {
    expect(arrived).toContain(secrets.get(kind));
  }
  const { files, found } = await findCanariesInFolder(written, canaries);
  expect(files).toBeGreaterThan(3);
  const sent = [
    ...findCanaries("standard output", Buffer.from(printed), canaries),
    ...answers.flatMap((answer) =>
      findCanaries(answer.slice(0, 200), Buffer.from(answer), canaries),
    ),
  ];
  expect([...sent, ...found]).toEqual([]);
});
