import { expect, type TestContext } from "vitest";
import type { KillResult } from "./kill-result.ts";
import type { KillMode } from "./run-to-kill.ts";

/** A real object, as the records of its provider have it. */
interface RealObject {
  readonly id: string;
  readonly name: string;
}

/** Applies that are killed at random moments. */
interface KillCase {
  /** Runs the program once for the configuration of a number. */
  readonly run: (
    number: number,
    mode: KillMode,
    killAfterMs?: number,
  ) => Promise<KillResult | "killed">;
  /** The objects that exist now. */
  readonly objects: () => readonly RealObject[];
  /** Longest time from the plan to the kill. */
  readonly killWithinMs: number;
}

/** How many applies one test kills. */
const MOMENTS = Math.max(1, Math.round(2 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
export const MOMENTS_TIMEOUT_MS = 60_000 + 120_000 * MOMENTS;

/** Compares what the state records with the objects of the provider. */
export function compareWithObjects(
  { recorded, unresolved, run: open }: KillResult,
  objects: readonly RealObject[],
): void {
  // A state that is still open says of calls only that they were begun.
  if (open !== "") return;
  expect(new Set(recorded).size).toBe(recorded.length);
  const unknown = objects.filter(({ id }) => !recorded.includes(id));
  for (const { name } of unknown) {
    const named = unresolved.filter((problem) => problem.includes(JSON.stringify(name)));
    expect(named, `no unresolved operation names ${name}`).not.toEqual([]);
  }
  expect(unknown.length).toBeLessThanOrEqual(unresolved.length);
  if (unresolved.length === 0) {
    expect(objects.map(({ id }) => id).toSorted()).toEqual(recorded.toSorted());
  }
}

/** Runs the program to its end. */
export async function runToEnd(
  run: KillCase["run"],
  number: number,
  mode: KillMode,
): Promise<KillResult> {
  const result = await run(number, mode);
  if (result === "killed") throw new Error("the program was killed, though not by the test");
  return result;
}

/** Kills an apply at each moment; the next run finishes it, or names the operations whose results are not known. */
export async function killAtMoments(
  { run, objects, killWithinMs }: KillCase,
  annotate: TestContext["annotate"],
): Promise<void> {
  let killed = 0;
  let unresolved = 0;
  for (let number = 0; number < MOMENTS; number += 1) {
    const outcome = await run(number, "apply", Math.random() * killWithinMs);
    if (outcome === "killed") killed += 1;
    const next = await runToEnd(run, number, "apply");
    compareWithObjects(next, objects());
    // Every apply has an end by now; the one before the last was ended by its successor.
    if (next.status === "applied")
      expect(next.phases, JSON.stringify(next)).not.toContain("applying");
    unresolved += next.unresolved.length;
    let last = next.unresolved.length === 0 ? next : await runToEnd(run, number, "resolve");
    // On a machine that is too busy to renew a fence in time, a worker stops by itself.
    for (let more = 0; more < 5 && last.status === "canceled"; more += 1) {
      last = await runToEnd(run, number, "resolve");
    }
    compareWithObjects(last, objects());
    expect(last).toMatchObject({ status: "applied", run: "", unresolved: [] });
  }
  await annotate(`${MOMENTS} moments, ${killed} applies killed, ${unresolved} unresolved`, "count");
}
