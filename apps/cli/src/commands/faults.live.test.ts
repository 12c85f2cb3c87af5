import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, type TestContext } from "vitest";
import { applyByRecords, labRecords, storedIds } from "../testing/lab-records.ts";
import { layLab } from "../testing/lay-lab.ts";
import { runSpawned } from "../testing/spawned-command.ts";

// The command as users start it, with a provider that keeps its own records. Command or provider is killed, stopped for a while or asked
// to end at a random moment of an apply; whatever that does, the store and the records of the provider agree after the next applies.

const PROGRAM = join(import.meta.dirname, "../../bin/stackwright.mjs");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
/** 2 in `.ci/run`, 1,000 in the soak. */
const FAULTS = Math.max(1, Math.round(2 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
const KINDS = [
  "command SIGKILL",
  "command SIGTERM",
  "provider SIGKILL",
  "command SIGSTOP",
  "provider SIGSTOP",
] as const;

/** Objects are created, changed, replaced in both orders and deleted with each number. */
const templateOf = (lab: string, number: number): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" { directory = ${JSON.stringify(lab)} }
resource "lab_object" "net" {
  count = 3
  name  = "net-\${count.index}"
  size  = ${number + 1}
}
resource "lab_object" "vm" {
  for_each = toset(${JSON.stringify(number % 2 === 0 ? ["a", "b"] : ["b", "c"])})
  name     = "vm-${number}-\${each.key}"
  tags     = { net = lab_object.net[0].id }
  lifecycle { create_before_destroy = true }
}
resource "lab_object" "disk" {
  count = ${2 + (number % 2)}
  name  = "disk-${number}-\${count.index}"
  tags  = { net = lab_object.net[1].id }
}
`;

it("an apply whose command or provider is killed, stopped or asked to end loses no object and makes none twice", {
  timeout: 60_000 + 90_000 * FAULTS,
}, async ({ annotate, skip }: TestContext) => {
  skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "faults-"));
  const cwd = join(scratch.path, "work");
  await mkdir(cwd);
  const { lab, rc } = await layLab(scratch.path, LAB);
  const env = { PATH: process.env["PATH"], HOME: cwd, TF_CLI_CONFIG_FILE: rc };
  const run = async (...words: string[]) => runSpawned(words, { cwd, env });

  const counts = new Map<string, number>();
  let unresolved = 0;
  // How long a whole apply takes here, from which the moments follow.
  await writeFile(join(cwd, "main.tf"), templateOf(lab, 0));
  const began = performance.now();
  expect(await run("up", "--yes")).toMatchObject({ code: 0 });
  const wholeMs = performance.now() - began;

  for (let number = 1; number <= FAULTS; number += 1) {
    const kind = KINDS[number % KINDS.length] ?? KINDS[0];
    await writeFile(join(cwd, "main.tf"), templateOf(lab, number));
    await upWithFault(kind, { cwd, env, afterMs: wholeMs * (0.3 + Math.random() * 0.6) });
    counts.set(kind, (counts.get(kind) ?? 0) + 1);

    const done = await applyByRecords(run, lab);
    unresolved += done.unresolved;
    expect(done.code, `${kind}: ${done.text}`).toBe(0);
    const ids = (await labRecords(lab)).map(({ id }) => id).toSorted();
    expect(await storedIds(run), `${kind}, fault ${number}`).toEqual(ids);
    expect(ids).toHaveLength(3 + 2 + 2 + (number % 2));
  }
  await annotate(`${FAULTS} faults`, "count");
  await annotate(
    `${FAULTS} faults (${[...counts].map(([kind, count]) => `${kind} ${count}`).join(", ")}), ${unresolved} calls resolved by the records`,
    "notice",
  );
});

async function upWithFault(
  kind: (typeof KINDS)[number],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly afterMs: number },
): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, "up", "--yes"], {
    cwd: options.cwd,
    env: options.env,
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await Promise.race([ended, delay(options.afterMs)]);
  const [victim, signal] = kind.split(" ") as ["command" | "provider", NodeJS.Signals];
  const pid = victim === "command" ? child.pid : providerOf(child.pid);
  if (pid !== undefined && child.exitCode === null && child.signalCode === null) {
    send(pid, signal);
    if (signal === "SIGSTOP") {
      await delay(1_500);
      send(pid, "SIGCONT");
    }
  }
  await ended;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The provider process below a command, while there is one. */
function providerOf(command: number | undefined): number | undefined {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  const family = new Set([String(command)]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const [pid = "", parent = ""] of rows) if (family.has(parent)) family.add(pid);
  }
  const found = rows.find(([pid = "", , program]) => family.has(pid) && program === LAB);
  return found?.[0] === undefined ? undefined : Number(found[0]);
}
