import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { createChance } from "@stackwright/core/testing";
import { expect, it, type TestContext } from "vitest";
import { type Kind, startPlatform } from "../testing/start-platform.ts";

// `stackwright serve` and `stackwright worker` as users start them, with a provider that keeps its own records. One process of a run is killed,
// asked to end or stopped at a random moment; whatever that does, the store and the records of the provider agree after the next runs.

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const RUNS = Number(process.env["STACKWRIGHT_RUNS"] ?? 1);
/** For each of the two places: 1 in `.ci/run`, 500 in the soak. */
const FAULTS = Math.max(1, Math.round(RUNS));
const SEED = Number(process.env["STACKWRIGHT_SEED"] ?? process.env["STACKWRIGHT_SLICE"] ?? 1);
/** Longer than a lease. */
const OVER_LEASE_MS = 18_000;

/** After these the run goes on within seconds. */
const QUICK: readonly Kind[] = ["executor SIGKILL", "provider SIGKILL", "executor SIGTERM"];
/** After these a lease has to end first, or a server has to start. */
const SLOW: readonly Kind[] = [
  "server SIGKILL",
  "server SIGTERM",
  "server SIGSTOP",
  "executor SIGSTOP",
  "provider SIGSTOP",
];
const OF_WORKER: readonly Kind[] = ["worker SIGKILL", "worker SIGTERM", "worker SIGSTOP"];

it.for([
  ["the server", [...QUICK, ...SLOW]],
  ["a worker elsewhere", [...QUICK, ...OF_WORKER, ...SLOW]],
] as const)(
  "a run that %s executes loses no object and makes none twice, whichever of its processes dies or stands still",
  { timeout: 60_000 + 240_000 * FAULTS, retry: 0 },
  async ([place, kinds], { annotate, skip }: TestContext) => {
    skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    const chance = createChance(SEED);
    const known = RUNS > 1 ? kinds : QUICK;
    const platform = await startPlatform({ isElsewhere: place === "a worker elsewhere" });
    const counts = new Map<string, number>();
    let unresolved = 0;
    for (let number = 0; number < FAULTS; number += 1) {
      const kind = known[(number + SEED) % known.length] ?? "executor SIGKILL";
      const stack = `s${number}`;
      expect(await platform.run(stack, 0)).toBe("applied");
      const run = await platform.request(stack, 1);
      await platform.applying(stack, run);
      await delay(chance.next() * 1_500);
      await platform.strike(kind, chance.maybe(0.3) ? OVER_LEASE_MS : 1_500);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      await platform.ended(stack, run);
      // Nothing has to be given to the next runs.
      let phase = await platform.run(stack, 1);
      for (let more = 0; more < 4 && !/^(?:applied|no_changes)$/.test(phase); more += 1) {
        phase = await platform.run(stack, 1);
      }
      const what = `${kind}, fault ${number}`;
      // A create whose answer died may have happened: nothing makes it again, and the state says so.
      const open = await platform.openCreates(stack);
      unresolved += open.length;
      if (open.length === 0) expect(phase, what).toMatch(/^(?:applied|no_changes)$/);
      const objects = (await platform.records()).filter(({ name }) => name.startsWith(`${stack}-`));
      const names = objects.map(({ name }) => name);
      expect(new Set(names).size, `${what}: ${names.join()}`).toBe(names.length);
      const recorded = await platform.recorded(stack);
      const ids = objects.map(({ id }) => id);
      // Nothing is recorded that does not exist, and nothing exists unrecorded but for what is said to be open.
      expect(
        recorded.filter((id) => !ids.includes(id)),
        what,
      ).toEqual([]);
      const orphans = ids.filter((id) => !recorded.includes(id));
      expect(orphans.length, `${what}: ${orphans.join()}`).toBeLessThanOrEqual(open.length);
    }
    await annotate(`${FAULTS} faults of ${place}`, "count");
    await annotate(`${unresolved} creates left open`, "count");
    await annotate(
      `${FAULTS} faults (${[...counts].map(([kind, count]) => `${kind} ${count}`).join(", ")}), ${unresolved} creates left open`,
      "notice",
    );
  },
);
