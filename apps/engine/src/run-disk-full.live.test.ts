import { chmod, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { SmallDisk } from "@stackwright/storage/testing";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// A server whose steps are executed on a disk of their own, which fills up. Its store is elsewhere.

const MAIN = join(import.meta.dirname, "main.ts");
const STACK = { project: "default", stack: "one" };
const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "/usr/local/bin/terraform";
const waiting = { timeout: 60_000, interval: 100 };

const probe = SmallDisk.mount(1);
probe?.[Symbol.dispose]();
const lacksRight = probe === undefined;
if (lacksRight) process.stderr.write("skipped: no right to mount a tmpfs, for full run folders\n");

async function start(fillsAtApply = false) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "run-disk-"));
  onTestFinished(() => scratch.remove());
  const disk = SmallDisk.mount(8);
  if (disk === undefined) throw new Error("the disk cannot be mounted");
  onTestFinished(() => disk[Symbol.dispose]());
  // Fills the disk at the moment at which the program is to lock its state.
  const filling = join(scratch.path, "filling-terraform");
  const fill = `/bin/dd if=/dev/zero of=${join(disk.path, "ballast")} bs=4k 2>/dev/null`;
  await writeFile(filling, `#!/bin/sh\n[ "$1" = apply ] && ${fill}\nexec ${TERRAFORM} "$@"\n`);
  await chmod(filling, 0o700);
  const tool = fillsAtApply ? filling : TERRAFORM;
  const args = [
    "--store",
    "sqlite:data",
    "--bootstrap-file",
    "first.json",
    "--provisioner-project",
    "default/default",
    "--tool",
    `terraform=${tool}`,
  ];
  const { url } = await startServerProcess(
    MAIN,
    [...args, "--run-directory", join(disk.path, "runs")],
    { cwd: scratch.path },
  );
  const first = await readFile(join(scratch.path, "first.json"), "utf8");
  const { token } = JSON.parse(first) as BootstrapCredentials;
  const client = createServerClient({ server: url, token });
  await client.createStack({ project: "default", body: { name: "one" } });
  const configuration = async (text: string): Promise<string> => {
    const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    return (await client.createConfiguration({ ...STACK, body })).data.digest;
  };
  const request = async (digest: string, autoApply = false) => {
    const body = { configuration: digest, auto_apply: autoApply };
    return { ...STACK, run: (await client.createRun({ ...STACK, body })).data.id };
  };
  const reaches = async (run: Awaited<ReturnType<typeof request>>, ...phases: string[]) => {
    await expect
      .poll(async () => phases.includes((await client.showRun(run)).data.phase), waiting)
      .toBe(true);
    return (await client.showRun(run)).data;
  };
  const logOf = async ({ run }: Awaited<ReturnType<typeof request>>): Promise<string> => {
    const path = `/api/v1/projects/default/stacks/one/runs/${run}/events?follow=false`;
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(url + path, { headers })).text();
  };
  return { disk, client, configuration, request, reaches, logOf };
}

/** In base64, as only terraform has it: nothing that was given to the server. */
const SECRET = Buffer.from("a-secret-of-the-provider").toString("base64");
const TWO = `
  resource "terraform_data" "first" {
    input = sensitive(base64encode("a-secret-of-the-provider"))
    provisioner "local-exec" { command = "sleep 4" }
  }
  resource "terraform_data" "second" {
    input      = "${"x".repeat(20_000)}"
    depends_on = [terraform_data.first]
  }
`;
const ONE = 'resource "terraform_data" "one" { input = 1 }';

it.skipIf(lacksRight)(
  "a plan without space fails with what to do, and the next one with space is made",
  { timeout: 120_000 },
  async () => {
    const { disk, configuration, request, reaches } = await start();
    const digest = await configuration(ONE);
    disk.fill();
    const failed = await reaches(await request(digest), "failed");
    expect(failed).toMatchObject({ reason_code: "no_space" });
    expect(failed.reason).toContain("make some on its file system, and request the run again");
    disk.free();
    await reaches(await request(digest, true), "applied");
  },
);

it.skipIf(lacksRight)(
  "an apply without space changes nothing, and is planned again by a retry",
  { timeout: 120_000 },
  async () => {
    const { disk, client, configuration, request, reaches } = await start();
    const run = await request(await configuration(ONE));
    const { plan_digest = "" } = await reaches(run, "awaiting_approval");
    disk.fill();
    await client.approveRun({ ...run, body: { plan_digest } });
    expect(await reaches(run, "failed", "partially_applied")).toMatchObject({
      phase: "failed",
      reason_code: "no_space",
    });
    disk.free();
    const { id } = (await client.retryRun({ ...run, body: {} })).data;
    await reaches({ ...STACK, run: id }, "awaiting_approval");
  },
);

it.skipIf(lacksRight)(
  "an apply whose disk fills up is finished, as its results are in the store",
  { timeout: 120_000 },
  async () => {
    const { disk, configuration, request, reaches } = await start();
    const run = await request(await configuration(TWO), true);
    await reaches(run, "applying");
    disk.fill();
    await reaches(run, "applied");
  },
);

it.skipIf(lacksRight)(
  "a terraform that finds no place for its lock has changed nothing",
  { timeout: 120_000 },
  async () => {
    const { client, configuration, request, reaches } = await start(true);
    await client.setStackTool({ ...STACK, body: { tool: "terraform" } });
    const run = await request(await configuration(TWO), true);
    const ended = await reaches(run, "failed", "partially_applied");
    expect(ended).toMatchObject({ phase: "failed", reason_code: "tool" });
    expect(ended.reason).toContain("Error acquiring the state lock");
  },
);

it.skipIf(lacksRight)(
  "the state that terraform prints, as it has no place, is stored and not shown",
  { timeout: 120_000 },
  async () => {
    const { disk, client, configuration, request, reaches, logOf } = await start();
    await client.setStackTool({ ...STACK, body: { tool: "terraform" } });
    const digest = await configuration(TWO);
    const run = await request(digest, true);
    await expect
      .poll(async () => (await logOf(run)).includes("Provisioning with"), waiting)
      .toBe(true);
    disk.fill();
    const ended = await reaches(run, "applied", "failed", "partially_applied");
    expect(ended).toMatchObject({ phase: "partially_applied" });
    expect(ended.reason).toContain("Failed to write state");
    const log = await logOf(run);
    expect(log).toContain("terraform could write its state nowhere and printed it");
    // Computed by a function of something that is no secret itself, so that no other rule hides it.
    expect(log).not.toContain(SECRET);
    disk.free();
    const next = await request(digest);
    await reaches(next, "awaiting_approval");
    expect(await logOf(next)).toContain("Plan: 1 to add, 0 to change, 0 to destroy");
  },
);
