import { describe, type TestContext, test } from "vitest";
import type { StorageCapabilities } from "../capabilities.ts";
import type { CreateHarness, Scenario, StorageHarness } from "./harness.ts";
import { runFactor } from "./run-scale.ts";
import { STORAGE_SCENARIOS } from "./scenarios.ts";

/** Of one scenario: a cluster on a busy machine takes its time. */
const TIMEOUT_MS = 60_000;

/**
 * Registers the conformance suite for an engine with vitest, one test per scenario and one new
 * store per test. What an engine does not have by its capabilities is skipped by name.
 */
export function describeStorage(
  name: string,
  create: CreateHarness,
  capabilities: StorageCapabilities,
): void {
  describe(`${name} keeps the storage contract`, () => {
    for (const group of STORAGE_SCENARIOS) {
      describe(group.title, () => {
        for (const scenario of group.scenarios) {
          const applies = scenario.applies?.(capabilities) ?? true;
          const run = async ({ skip }: TestContext): Promise<void> => {
            skip(!applies, `${capabilities.engine} does not declare what this is about`);
            await runScenario(scenario, create, capabilities);
          };
          test(scenario.title, run, TIMEOUT_MS * runFactor());
        }
      });
    }
  });
}

/** Runs one scenario on a new store, for other test runners. */
export async function runScenario(
  scenario: Scenario,
  create: CreateHarness,
  capabilities: StorageCapabilities,
): Promise<void> {
  await using harness: StorageHarness = await create();
  await using storage = await harness.open(scenario.open);
  await scenario.run({ storage, harness, capabilities, factor: runFactor() });
}
