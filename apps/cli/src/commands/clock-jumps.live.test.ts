import { mkdir, mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it, type TestContext } from "vitest";
import { labRecords, storedIds } from "../testing/lab-records.ts";
import { layLab } from "../testing/lay-lab.ts";
import { runSpawned, spawnCommand } from "../testing/spawned-command.ts";
import { startPlatform } from "../testing/start-platform.ts";

// The wall clock of the command and of a server, with all that they start, is set by hours while they work. Leases go by monotonic time.

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const HOUR_MS = 3_600_000;
const PRELOAD = pathToFileURL(
  fileURLToPath(new URL("../testing/shifted-clock.ts", import.meta.url)),
).href;

/** A clock that is set by writing a file, and the variables for what goes by it. */
async function clockIn(folder: string) {
  const file = join(folder, "shift");
  const set = async (hours: number) => writeFile(file, String(hours * HOUR_MS));
  await set(0);
  return { set, env: { NODE_OPTIONS: `--import ${PRELOAD}`, SHIFTED_CLOCK: file } };
}

it("an apply keeps its stack and records all of its objects though the clock jumps by hours, ahead and back", {
  retry: 0,
  timeout: 240_000,
}, async ({ skip }: TestContext) => {
  skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "clock-"));
  const cwd = join(scratch.path, "work");
  await mkdir(cwd);
  const { lab, rc } = await layLab(scratch.path, LAB);
  const clock = await clockIn(scratch.path);
  const env = { TF_CLI_CONFIG_FILE: rc, ...clock.env };
  const run = async (...words: string[]) => runSpawned(words, { cwd, env });
  // Each object waits for a moment that the test chooses.
  const gates = ["one", "two"].map((name) => join(scratch.path, name));
  const blocks = gates.map(
    (gate, index) => `
resource "lab_object" "o${index}" {
  name       = "o${index}"
  fault      = "wait-create:${gate}"
  depends_on = [${index === 0 ? "" : "lab_object.o0"}]
}`,
  );
  await writeFile(
    join(cwd, "main.tf"),
    `terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" { directory = ${JSON.stringify(lab)} }
${blocks.join("\n")}
`,
  );
  await using apply = spawnCommand(["up", "--yes"], { cwd, env });
  for (const [index, gate] of gates.entries()) {
    await apply.waitFor(new RegExp(`lab_object.o${index}: Creating`));
    // Hours ahead at the first object, hours behind at the second one.
    await clock.set(index === 0 ? 7 : -5);
    // A renewal is due meanwhile.
    await delay(6_000);
    await writeFile(gate, "");
  }
  expect(await apply.ended, apply.text()).toBe(0);
  expect(apply.text()).not.toMatch(/\blease\b|was lost/);
  // The next commands are hours behind what the store was last written at.
  const next = await run("up", "--yes");
  expect(next).toMatchObject({ code: 0, text: expect.stringContaining("No changes") });
  await clock.set(9);
  const refreshed = await run("up", "--yes", "--refresh-only");
  expect(refreshed.code, refreshed.text).toBe(0);
  const ids = (await labRecords(lab)).map(({ id }) => id).toSorted();
  expect(await storedIds(run)).toEqual(ids);
  expect(ids).toHaveLength(2);
  await rm(gates[0] ?? "");
});

it("a server ends runs, fires a schedule once and gives out no number twice though its clock jumps by hours, ahead and back", {
  retry: 0,
  timeout: 300_000,
}, async ({ skip }: TestContext) => {
  skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "clock-server-"));
  const clock = await clockIn(scratch.path);
  const platform = await startPlatform({ serverEnv: clock.env });
  const { client } = platform;
  const place = { project: "default", stack: "s" };
  const runs = async () => (await client.listRuns({ ...place, limit: 100 })).data.runs;
  expect(await platform.run("s", 0)).toBe("applied");
  const body = { mode: "plan_only" as const, cron: "*/5 * * * *", zone: "UTC" };
  await client.createSchedule({ ...place, body });

  const before = (await runs()).length;
  const first = await platform.request("s", 1);
  await platform.applying("s", first);
  await clock.set(7);
  expect(await platform.ended("s", first)).toBe("applied");
  // Of the 84 times that passed one run is made, for the last of them.
  await expect.poll(async () => (await runs()).length, { timeout: 90_000 }).toBe(before + 2);
  await delay(5_000);
  expect((await runs()).length).toBe(before + 2);

  const second = await platform.request("s", 2);
  await platform.applying("s", second);
  await clock.set(-5);
  expect(await platform.ended("s", second)).toBe("applied");
  expect(await platform.run("s", 3)).toBe("applied");
  const all = await runs();
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const numbers = all.map(({ number }) => number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(all.map((_, index) => index + 1));
  expect(platform.said()).not.toMatch(/lost its lease/);
  const ids = (await platform.records()).map(({ id }) => id).toSorted();
  expect((await platform.recorded("s")).toSorted()).toEqual(ids);
});
