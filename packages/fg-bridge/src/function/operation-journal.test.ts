import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { openDirectoryJournal } from "./directory-journal.ts";
import { createMemoryJournal } from "./memory-journal.ts";
import type { OperationJournal } from "./operation-journal.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "journal-"));
  folders.push(path);
  return path;
}

const key = { caller: "a", sessionId: "s", callId: "c" };
const delivery = { attempt: 0, epoch: 1n, requestHash: "h", untilMs: 1000 };
const result = { responseData: Buffer.from("state"), error: "" };

describe.each<[string, (now: () => number) => Promise<OperationJournal>]>([
  ["memory", async (now) => createMemoryJournal({ now })],
  ["directory", async (now) => openDirectoryJournal({ directory: await folder(), now })],
])("the journal in %s", (name, create) => {
  it("lets an operation run once, and gives its result to every repetition", async () => {
    const journal = await create(() => 0);
    expect(await journal.begin(key, delivery)).toEqual({ kind: "run" });
    expect(await journal.begin(key, delivery)).toEqual({ kind: "running" });
    expect(await journal.outcome(key, 0)).toEqual({ kind: "running" });
    await journal.finish(key, 0, result);
    for (const attempt of [0, 1, 5]) {
      const again = await journal.begin(key, { ...delivery, attempt });
      expect(again).toMatchObject({ kind: "done", result: { error: "" } });
    }
    const outcome = await journal.outcome(key, 3);
    expect(outcome.kind === "done" && Buffer.from(outcome.result.responseData).toString()).toBe(
      "state",
    );
  });

  it("distinguishes operations by caller, session and id", async () => {
    const journal = await create(() => 0);
    for (const other of [
      key,
      { ...key, caller: "b" },
      { ...key, sessionId: "t" },
      { ...key, callId: "d" },
    ]) {
      expect(await journal.begin(other, delivery)).toEqual({ kind: "run" });
    }
  });

  it("refuses another request under the same id, and a lower epoch", async () => {
    const journal = await create(() => 0);
    await journal.begin(key, { ...delivery, epoch: 5n });
    expect(await journal.begin(key, { ...delivery, epoch: 5n, requestHash: "other" })).toEqual({
      kind: "refused",
      reason: "conflict",
    });
    expect(await journal.begin(key, { ...delivery, epoch: 4n })).toEqual({
      kind: "refused",
      reason: "stale",
    });
    expect(await journal.begin(key, { ...delivery, epoch: 6n })).toEqual({ kind: "running" });
  });

  it("says unresolved of a run that must have ended and left nothing", async () => {
    let now = 0;
    const journal = await create(() => now);
    await journal.begin(key, delivery);
    now = 60_000;
    expect(await journal.begin(key, delivery)).toEqual({ kind: "unresolved" });
    expect(await journal.outcome(key, 0)).toEqual({ kind: "unresolved" });
  });

  it("lets a later attempt run after one that was given up, and never that one itself", async () => {
    const journal = await create(() => 0);
    await journal.begin(key, delivery);
    await journal.giveUp(key, 0);
    expect(await journal.outcome(key, 0)).toEqual({ kind: "not-applied" });
    expect(await journal.begin(key, delivery)).toEqual({ kind: "refused", reason: "given-up" });
    expect(await journal.begin(key, { ...delivery, attempt: 1 })).toEqual({ kind: "run" });
    expect(await journal.begin(key, { ...delivery, attempt: 2 })).toEqual({ kind: "running" });
  });

  it("fences off what it was asked about and has not seen", async () => {
    const journal = await create(() => 0);
    const outcome = await journal.outcome(key, 1);
    // Only what outlives instances can prove that nothing was begun.
    expect(outcome.kind).toBe(name === "memory" ? "unresolved" : "not-applied");
    for (const attempt of [0, 1]) {
      expect(await journal.begin(key, { ...delivery, attempt })).toEqual({
        kind: "refused",
        reason: "given-up",
      });
    }
    expect(await journal.begin(key, { ...delivery, attempt: 2 })).toEqual({ kind: "run" });
  });

  it(
    "lets at most one of any deliveries and questions at once run",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ attempt: fc.nat(2), what: fc.constantFrom("begin", "outcome") }), {
            maxLength: 8,
          }),
          async (steps) => {
            const journal = await create(() => 0);
            const answers = await Promise.all(
              steps.map(async ({ attempt, what }) => ({
                attempt,
                what,
                kind: (
                  await (what === "begin"
                    ? journal.begin(key, { ...delivery, attempt })
                    : journal.outcome(key, attempt))
                ).kind,
              })),
            );
            const runs = answers.filter(({ kind }) => kind === "run");
            expect(runs.length).toBeLessThanOrEqual(1);
            // Nothing runs at or below an attempt that was said not to have begun.
            for (const { attempt } of answers.filter(({ kind }) => kind === "not-applied")) {
              for (const run of runs) expect(run.attempt).toBeGreaterThan(attempt);
            }
          },
        ),
        { numRuns: Math.round(40 * Number(process.env.STACKWRIGHT_RUNS ?? 1)) },
      );
    },
    60_000 * Math.max(1, Number(process.env.STACKWRIGHT_RUNS ?? 1)),
  );
});

describe("the journal in a directory", () => {
  it("outlives the instance, and is shared", async () => {
    const directory = await folder();
    await using first = await openDirectoryJournal({ directory });
    await using second = await openDirectoryJournal({ directory });
    const soon = { ...delivery, untilMs: Date.now() + 60_000 };
    expect(await first.begin(key, soon)).toEqual({ kind: "run" });
    expect(await second.begin(key, soon)).toEqual({ kind: "running" });
    await first.finish(key, 0, result);
    await using later = await openDirectoryJournal({ directory });
    expect(await later.begin(key, soon)).toMatchObject({ kind: "done" });
  });

  it("keeps what it stores from others", async () => {
    const directory = await folder();
    await using journal = await openDirectoryJournal({ directory });
    await journal.begin(key, delivery);
    await journal.finish(key, 0, result);
    const [name = ""] = await readdir(directory);
    expect((await stat(join(directory, name))).mode & 0o077).toBe(0);
    for (const file of await readdir(join(directory, name))) {
      expect((await stat(join(directory, name, file))).mode & 0o077).toBe(0);
    }
  });

  it("removes what is old, and nothing that it did not make", async () => {
    const directory = await folder();
    await using journal = await openDirectoryJournal({ directory });
    await journal.begin(key, delivery);
    await writeFile(join(directory, "note"), "mine");
    const [name = ""] = (await readdir(directory)).filter((file) => file !== "note");
    await utimes(join(directory, name), 0, 0);
    await utimes(join(directory, "note"), 0, 0);
    await openDirectoryJournal({ directory });
    expect(await readdir(directory)).toEqual(["note"]);
  });
});
