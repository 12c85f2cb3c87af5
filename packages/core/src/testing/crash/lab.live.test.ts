import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, type TestContext, test } from "vitest";
import {
  compareWithObjects,
  killAtMoments,
  MOMENTS_TIMEOUT_MS,
  runToEnd,
} from "./kill-at-moments.ts";
import { type KillMode, runToKill } from "./run-to-kill.ts";

const PROGRAM = join(import.meta.dirname, "lab-program.ts");
const LAB = process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "";

const runIn = (folder: string) => async (number: number, mode: KillMode, killAfterMs?: number) =>
  runToKill(PROGRAM, [folder, LAB, String(number), mode], killAfterMs);

/** The provider's own records. */
function records(folder: string): readonly { readonly id: string; readonly name: string }[] {
  const lab = join(folder, "lab");
  return readdirSync(lab)
    .filter((name) => name.endsWith(".json"))
    .map(
      (name) => JSON.parse(readFileSync(join(lab, name), "utf8")) as { id: string; name: string },
    );
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** All processes, by what the system says. */
function processes(): readonly Process[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  return table.split("\n").flatMap((line) => {
    const [pid = "", parent = "", command = ""] = line.trim().split(/\s+/);
    return pid === "" ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}

/** Processes of a program that another process, or one of its children, has started. */
function startedBy(ancestor: number | undefined, command: string): readonly number[] {
  const all = processes();
  const family = new Set([ancestor]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  return all.filter((one) => family.has(one.pid) && one.command === command).map(({ pid }) => pid);
}

describe("an apply with a Go-built provider that is killed", { retry: 0 }, () => {
  let folder: string;

  beforeEach(async (ctx) => {
    ctx.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    folder = await mkdtemp(join(tmpdir(), "kill-lab-"));
    return async () => rm(folder, { recursive: true });
  });

  test(
    "is finished by the next run, or what is not known is named",
    async ({ annotate }: TestContext) =>
      killAtMoments(
        { run: runIn(folder), objects: () => records(folder), killWithinMs: 120 },
        annotate,
      ),
    MOMENTS_TIMEOUT_MS,
  );

  test("takes its provider with it, whatever that is doing", async () => {
    const child = spawn(process.execPath, [PROGRAM, folder, LAB, "0", "hang"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = new Promise((resolve) => {
      child.once("exit", resolve);
    });
    // Both creates hang; only calls whose intents are stored are reported.
    const calling = new Set<string>();
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith("calling ")) calling.add(line);
      if (calling.size === 2) break;
    }
    const during = startedBy(child.pid, LAB);
    expect(during).toHaveLength(1);
    child.kill("SIGKILL");
    await exited;
    for (let tries = 0; tries < 50 && alive(during).length > 0; tries += 1) await delay(100);
    expect(alive(during)).toEqual([]);
    // The next run recovers the operations that were in progress.
    const next = await runToEnd(runIn(folder), 0, "apply");
    expect(next.recovered).toBe(2);
    compareWithObjects(next, records(folder));
  }, 120_000);
});

function alive(pids: readonly number[]): readonly number[] {
  const present = new Set(processes().flatMap(({ pid, command }) => (command === LAB ? pid : [])));
  return pids.filter((pid) => present.has(pid));
}
