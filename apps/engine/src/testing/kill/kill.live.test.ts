import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, type TestContext, test } from "vitest";
import type { KillResult } from "./engine-program.ts";
import { readCloudFolder } from "./folder-cloud.ts";

const MOMENTS = Math.max(1, Math.round(2 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
const PROGRAM = join(import.meta.dirname, "engine-program.ts");

/** Runs the program; kills it so long after it has made its plan, if it still lives then. */
async function run(
  folder: string,
  number: number,
  mode: "apply" | "resolve",
  killAfterMs?: number,
): Promise<KillResult | "killed"> {
  const child = spawn(process.execPath, [PROGRAM, folder, String(number), mode], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const errors: string[] = [];
  child.stderr.on("data", (data: Buffer) => errors.push(data.toString()));
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  let last = "";
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    if (line === "planned" && killAfterMs !== undefined) {
      await delay(killAfterMs);
      child.kill("SIGKILL");
    }
  }
  const code = await exited;
  if (code === null) return "killed";
  if (code !== 0) throw new Error(`the engine ended with ${code}: ${errors.join("")}`);
  return JSON.parse(last) as KillResult;
}

/** Compares what the engine says with what the provider has kept. */
function compare(result: KillResult, folder: string): void {
  const { recorded, unresolved } = result;
  expect(new Set(recorded).size).toBe(recorded.length);
  const objects = readCloudFolder(join(folder, "cloud"));
  const unknown = objects.filter(({ id }) => !recorded.includes(id));
  for (const { value } of unknown) {
    const name = new Map(value.entries()).get("name")?.asString() ?? "";
    const named = unresolved.filter((problem) => problem.includes(JSON.stringify(name)));
    expect(named, `nobody knows of ${name}`).not.toEqual([]);
  }
  expect(unknown.length).toBeLessThanOrEqual(unresolved.length);
  if (unresolved.length === 0) {
    expect(objects.map(({ id }) => id).sort()).toEqual([...recorded].sort());
  }
}

describe("an apply that is killed", () => {
  test(
    "is finished by the next run, or what is not known is named",
    async ({ annotate }: TestContext) => {
      const folder = await mkdtemp(join(tmpdir(), "kill-"));
      let killed = 0;
      let unresolved = 0;
      try {
        for (let number = 0; number < MOMENTS; number += 1) {
          const outcome = await run(folder, number, "apply", Math.random() * 250);
          if (outcome === "killed") killed += 1;
          const next = await run(folder, number, "apply");
          if (next === "killed") throw new Error("nobody killed it");
          compare(next, folder);
          unresolved += next.unresolved.length;
          const last = next.unresolved.length === 0 ? next : await run(folder, number, "resolve");
          if (last === "killed") throw new Error("nobody killed it");
          compare(last, folder);
          expect(last).toMatchObject({ status: "applied", run: "", unresolved: [] });
        }
        const calls = (await readFile(join(folder, "cloud", "calls"), "utf8")).split("\n");
        expect(calls.filter((line) => line.startsWith("create")).length).toBeGreaterThan(5);
      } finally {
        await rm(folder, { recursive: true });
      }
      await annotate(
        `${MOMENTS} moments, ${killed} applies killed, ${unresolved} unresolved`,
        "count",
      );
    },
    60_000 + 120_000 * MOMENTS,
  );
});
