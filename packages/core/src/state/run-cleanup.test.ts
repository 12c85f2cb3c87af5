import { createManualClock } from "@stackwright/base/testing";
import { createUlidGenerator } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { EngineError } from "../errors.ts";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { cleanUpRuns } from "./run-cleanup.ts";
import { createRuns, type RunPhase, type Runs } from "./runs.ts";

const DAY = 24 * 60 * 60 * 1000;
const START = 1_700_000_000_000;
const IDLE = { revision: 6n, run: "" };
/** Phases of a run on the way to its apply, from the first one on. */
const WAYS: Readonly<Partial<Record<RunPhase, readonly RunPhase[]>>> = {
  queued: [],
  preparing: ["preparing"],
  planning: ["preparing", "planning"],
  planned: ["preparing", "planning", "planned"],
  awaiting_approval: ["preparing", "planning", "planned", "awaiting_approval"],
  policy_failed: ["preparing", "planning", "planned", "policy_failed"],
  approved: ["preparing", "planning", "planned", "approved"],
  applying: ["preparing", "planning", "planned", "approved", "applying"],
};

async function start() {
  const clock = createManualClock(START);
  const token = createUlidGenerator({ wallMs: () => clock.wallMs() });
  const runs = createRuns(TEST_STACK, { storage: createMemoryStorage(), scheduler: clock, token });
  /** A run in a phase, with a plan of a revision where it has one. */
  const make = async (id: string, phase: RunPhase, baseRevision = 6n, epoch = 2n) => {
    await runs.create({ id, cause: "user:ann" });
    let at: RunPhase = "queued";
    for (const next of WAYS[phase] ?? []) {
      const patch = {
        ...(next === "planned" && { planDigest: "ab", baseRevision }),
        ...(next === "applying" && { epoch }),
      };
      await runs.transition(id, at, next, patch);
      at = next;
    }
  };
  const phaseOf = async (id: string) => (await runs.read(id))?.phase;
  return { runs, make, phaseOf };
}

it.each(["queued", "preparing", "planning"] as const)(
  "a run that is %s is ended after a day without a change, and not before",
  async (phase) => {
    const { runs, make, phaseOf } = await start();
    await make("r", phase);
    await cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: START + DAY });
    expect(await phaseOf("r")).toBe(phase);
    await cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: START + DAY + 1 });
    expect(await phaseOf("r")).toBe("canceled");
  },
);

it.each(["planned", "awaiting_approval", "policy_failed", "approved"] as const)(
  "a run that is %s is superseded once the state has risen, however old it is",
  async (phase) => {
    const { runs, make, phaseOf } = await start();
    await make("fresh", phase, 6n);
    await make("stale", phase, 5n);
    await cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: START + 100 * DAY });
    expect([await phaseOf("fresh"), await phaseOf("stale")]).toEqual([phase, "superseded"]);
    expect((await runs.read("stale"))?.reason).toBe("its plan is of revision 5, the state is at 6");
  },
);

it("a run that a worker under the same epoch applies goes on, one of an earlier epoch has failed", async () => {
  const { runs, make, phaseOf } = await start();
  await make("mine", "applying", 6n, 3n);
  await make("gone", "applying", 6n, 2n);
  await cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: START });
  expect([await phaseOf("mine"), await phaseOf("gone")]).toEqual(["applying", "failed"]);
});

it("a run that is being applied is not superseded by what it writes itself", async () => {
  const { runs, make, phaseOf } = await start();
  await make("mine", "applying", 5n, 3n);
  await cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: START });
  expect(await phaseOf("mine")).toBe("applying");
});

const ENDED = { id: "r", phase: "canceled", cause: "", createdAtMs: 0, updatedAtMs: 0 } as const;

/** Runs that are in a list, where each change is answered with an error. */
function refusing(all: readonly object[], error: Error): Runs {
  const refuse = async () => Promise.reject(error);
  return {
    list: async () => Promise.resolve(all),
    transition: refuse,
    remove: refuse,
  } as unknown as Runs;
}

it("a run that another worker moved meanwhile is left to that worker, other errors are not", async () => {
  const given = { epoch: 3n, head: IDLE, nowMs: DAY + 1 };
  const queued = { ...ENDED, phase: "queued" };
  const moved = new EngineError("ENGINE_STATE_TRANSITION");
  await expect(cleanUpRuns(refusing([queued], moved), given)).resolves.toBeUndefined();
  const away = new Error("the store is away");
  await expect(cleanUpRuns(refusing([queued], away), given)).rejects.toBe(away);
});

it("the oldest ended runs are removed beyond 200, and no run of a server", async () => {
  const removed: string[] = [];
  const ended = Array.from({ length: 202 }, (_, at) => ({ ...ENDED, id: `r${at}` }));
  const all = [
    { ...ENDED, id: "server", ofServer: true },
    { ...ENDED, id: "open", phase: "planned" },
    ...ended,
  ];
  const runs = {
    list: async () => Promise.resolve(all),
    remove: async (id: string) => void removed.push(id),
  } as unknown as Runs;
  await cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: 0 });
  expect(removed).toEqual(["r0", "r1"]);
});

it("a run of a server is not moved", async () => {
  const stale = { ...ENDED, phase: "queued", ofServer: true };
  const runs = refusing([stale], new Error("it was moved"));
  const cleaning = cleanUpRuns(runs, { epoch: 3n, head: IDLE, nowMs: DAY + 1 });
  await expect(cleaning).resolves.toBeUndefined();
});
