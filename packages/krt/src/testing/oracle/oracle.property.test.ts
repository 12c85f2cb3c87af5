import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRuntime, type KrtError } from "../../index.ts";
import { ManualScheduler } from "../manual-scheduler.ts";
import { checkInvariants } from "./invariants.ts";
import { Lockstep } from "./lockstep.ts";
import { type Program, program } from "./program.ts";

/** Programs per mode: few in every test run, many in the soak. */
const factor = Number(process.env.STACKWRIGHT_RUNS ?? 1);
const numRuns = Math.round(400 * factor);
const timeout = 20_000 + 5_000 * factor;

function run(
  given: Program,
  tickMs: number,
  maxTurnMs: number,
  turns: "eager" | "lazy" = "eager",
): void {
  const errors: KrtError[] = [];
  const scheduler = new ManualScheduler(tickMs);
  const rt = createRuntime({
    scheduler,
    turns,
    onError: (error) => errors.push(error),
    ...(maxTurnMs > 0 && { maxTurnMs, sliceMs: maxTurnMs }),
  });
  const rest = (look: () => void) => {
    look();
    while (scheduler.step()) look();
    checkInvariants(rt);
  };
  new Lockstep(rt, rest).run(given);
  const unplanned = errors.filter((error) => (error.cause as Error).message !== "planned");
  expect(unplanned).toEqual([]);
  rt.dispose();
}

describe("S052 random programs agree with an oracle that recomputes everything", {
  timeout,
}, () => {
  it("with turns at once: states, histories, sync and the number of runs", async ({ annotate }) => {
    await annotate(`${numRuns} programs`, "count");
    fc.assert(
      fc.property(program, (given) => run(given, 0, 0)),
      { numRuns },
    );
  });

  it("with turns in slices of a few steps", async ({ annotate }) => {
    await annotate(`${Math.ceil(numRuns / 2)} programs`, "count");
    fc.assert(
      fc.property(program, fc.integer({ min: 1, max: 4 }), (given, steps) => run(given, 1, steps)),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });

  it("with turns when somebody looks", async ({ annotate }) => {
    await annotate(`${Math.ceil(numRuns / 4)} programs`, "count");
    fc.assert(
      fc.property(program, (given) => run(given, 0, 0, "lazy")),
      { numRuns: Math.ceil(numRuns / 4) },
    );
  });
});
