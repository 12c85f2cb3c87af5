import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const FAKE_GCS = process.env["TEST_TOOL_FAKE_GCS_SERVER"] ?? "";

it("comes back from a bucket of Google Cloud Storage, whose lock is kept meanwhile", {
  timeout: 120_000,
}, async (context) => {
  context.skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
  context.skip(FAKE_GCS === "", "TEST_TOOL_FAKE_GCS_SERVER is not set");
  const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-gcs-"));
  onTestFinished(() => scratch.remove());
  const endpoint = await bucketServer("states");
  await mkdir(join(scratch.path, ".git"));
  const write = async (value: string): Promise<void> =>
    writeFile(
      join(scratch.path, "main.tf"),
      `terraform {
  backend "gcs" {
    prefix = "app"
  }
}
resource "terraform_data" "a" { input = "${value}" }
output "a" { value = terraform_data.a.output }
`,
    );
  await write("one");
  await writeFile(
    join(scratch.path, "backend.hcl"),
    `bucket = "states"\nstorage_custom_endpoint = "${endpoint}"\n`,
  );
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: scratch.path,
    TF_IN_AUTOMATION: "1",
    GOOGLE_OAUTH_ACCESS_TOKEN: "canary-token",
    STACKWRIGHT_STORE: `sqlite://${join(scratch.path, "store.db")}`,
    STACKWRIGHT_KEY: "ab".repeat(32),
  };
  const terraform = async (...words: string[]): Promise<{ code: number; text: string }> =>
    new Promise((resolve) => {
      const options = { cwd: scratch.path, env, timeout: 60_000 };
      execFile(COMMAND, [...words, "-no-color"], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, text: stdout + stderr });
      });
    });
  const stackwright = async (...words: string[]) => tryCommand(words, { cwd: scratch.path, env });
  for (const words of [
    ["init", "-backend-config=backend.hcl"],
    ["apply", "-auto-approve"],
  ]) {
    const { code, text } = await terraform(...words);
    expect(code, text).toBe(0);
  }
  // Another configuration reads the outputs: from the bucket, and from the store once the state is there.
  await mkdir(join(scratch.path, "reader"));
  await writeFile(
    join(scratch.path, "reader/main.tf"),
    `data "terraform_remote_state" "a" {
  backend = "gcs"
  config = {
    bucket                  = "states"
    prefix                  = "app"
    storage_custom_endpoint = "${endpoint}"
  }
}
output "found" { value = data.terraform_remote_state.a.outputs.a }
`,
  );
  const found = async (): Promise<string> => {
    const done = await stackwright("-chdir=reader", "plan", "--stack", "reader");
    expect(done.code, done.output + done.error).toBe(0);
    return done.output;
  };
  expect(await found()).toContain('found = "one"');
  const tried = await stackwright("adopt", "--dry-run");
  expect(tried.code, tried.output + tried.error).toBe(0);
  // No lock is left, and no stack: a plan is still refused here.
  expect((await terraform("plan", "-detailed-exitcode", "-input=false")).code).toBe(0);
  expect((await stackwright("plan")).code).toBe(1);
  const adopted = await stackwright("adopt", "--yes");
  expect(adopted.code, adopted.output + adopted.error).toBe(0);
  expect(adopted.output).toMatch(/"terraform force-unlock \d+" releases it/);
  expect((await stackwright("plan", "-detailed-exitcode")).code).toBe(0);
  // A reader with another store is warned that what it reads does not change any more.
  const elsewhere = { ...env, STACKWRIGHT_STORE: `sqlite://${join(scratch.path, "other.db")}` };
  const stale = await tryCommand(["-chdir=reader", "plan", "--stack", "reader"], {
    cwd: scratch.path,
    env: elsewhere,
  });
  expect(stale.output + stale.error).toContain('found = "one"');
  expect(stale.output + stale.error).toContain("is locked by an adoption");
  expect(await found()).not.toContain("is locked by an adoption");
  const refused = await terraform("plan", "-input=false");
  expect(refused.code).toBe(1);
  expect(refused.text).toContain("stackwright adopt");
  // Somebody releases the lock that was kept: the next adoption acquires another.
  const [, argument = ""] = /force-unlock (\d+)/.exec(adopted.output) ?? [];
  expect((await terraform("force-unlock", "-force", argument)).code).toBe(0);
  const again = await stackwright("adopt", "--yes");
  expect(again.code, again.output + again.error).toBe(0);
  expect((await terraform("plan", "-input=false")).code).toBe(1);
  await write("two");
  expect((await stackwright("up", "-y")).code).toBe(0);
  expect(await found()).toContain('found = "two"');
  const back = await stackwright("hand-back", "--yes");
  expect(back.code, back.output + back.error).toBe(0);
  const plan = await terraform("plan", "-detailed-exitcode", "-input=false");
  expect(plan.code, plan.text).toBe(0);

  const pulled = async (): Promise<{ readonly serial: number; readonly lineage: string }> =>
    JSON.parse((await terraform("state", "pull")).text) as never;
  const before = await pulled();
  const kept = await stackwright("adopt", "--yes", "--mirror");
  expect(kept.code, kept.output + kept.error).toBe(0);
  await write("three");
  expect((await stackwright("up", "-y")).code).toBe(0);
  const mirrored = await pulled();
  expect(mirrored).toMatchObject({ lineage: before.lineage, outputs: { a: { value: "three" } } });
  expect(mirrored.serial).toBeGreaterThan(before.serial);
  const said = [adopted, again, back, kept].map(({ output, error }) => output + error).join("");
  expect(said).not.toContain("canary-token");
});

/** A simulation of the storage with one bucket; its endpoint. */
async function bucketServer(bucket: string): Promise<string> {
  const [port = 0] = await freePorts(1);
  const words = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"];
  const own = ["-port", String(port), "-public-host", `127.0.0.1:${port}`];
  const child = spawn(FAKE_GCS, [...words, ...own], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill();
    await once(child, "exit");
  });
  const endpoint = `http://127.0.0.1:${port}/storage/v1/`;
  const make = async (): Promise<number> =>
    fetch(`${endpoint}b?project=test`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: bucket }),
    }).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(make, { timeout: 30_000 }).toBe(200);
  return endpoint;
}
