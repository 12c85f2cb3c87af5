import { describe, test } from "vitest";
import type { StorageCapabilities } from "../capabilities.ts";
import type { CreateHarness, Scenario, StorageHarness } from "./harness.ts";
import { STORAGE_SCENARIOS } from "./scenarios.ts";

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
          test.skipIf(!applies)(scenario.title, () => runScenario(scenario, create, capabilities));
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
  const factor = Math.max(1, Math.round(Number(process.env.STACKWRIGHT_RUNS ?? 1)));
  await scenario.run({ storage, harness, capabilities, factor });
}
