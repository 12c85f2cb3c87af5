import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, type TestContext, test } from "vitest";
import { readCloudFolder } from "./folder-cloud.ts";
import type { KillResult } from "./kill-result.ts";
import { type KillMode, runToKill } from "./run-to-kill.ts";

const MOMENTS = Math.max(1, Math.round(2 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
const PROGRAM = join(import.meta.dirname, "engine-program.ts");

const run = async (folder: string, number: number, mode: KillMode, killAfterMs?: number) =>
  runToKill(PROGRAM, [folder, String(number), mode], killAfterMs);

/** Compares what the engine says with what the provider has kept. */
function compare(result: KillResult, folder: string): void {
  const { recorded, unresolved, run: open } = result;
  // A state that is still open says of calls only that they were begun.
  if (open !== "") return;
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
          // Whatever was being applied has an end by now, and the one before the last was ended by its successor.
          if (next.status === "applied")
            expect(next.phases, JSON.stringify(next)).not.toContain("applying");
          unresolved += next.unresolved.length;
          let last = next.unresolved.length === 0 ? next : await run(folder, number, "resolve");
          // On a machine that is too busy to renew a fence in time, a worker stops by itself.
          for (
            let more = 0;
            more < 5 && last !== "killed" && last.status === "canceled";
            more += 1
          ) {
            last = await run(folder, number, "resolve");
          }
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
