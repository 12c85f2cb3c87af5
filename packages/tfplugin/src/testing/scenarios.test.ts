import { describe, expect, it } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { comparable } from "./compare-outcomes.ts";
import { ProviderDriver } from "./provider-driver.ts";
import { runScenario } from "./scenario.ts";
import { readFixture } from "./scenario-fixture.ts";
import { scenarios } from "./scenarios.ts";
import { replayingTransport } from "./transcript.ts";

/*
 * Conversations with real providers, replayed: the client asks byte for byte what it asked the provider when it was
 * recorded, and comes to the plans and states that the real command came to. scenarios.live.test.ts records them.
 */
describe.each(scenarios("").map(({ name }) => name))("the recorded provider %s", (name) => {
  it("is asked the same, and planned and made as by the command", async () => {
    const fixture = await readFixture(name);
    const scenario = scenarios(fixture.address).find((candidate) => candidate.name === name);
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
    const transport = replayingTransport(fixture.transcript);
    const driver = await ProviderDriver.configure(createPluginClient(transport), scenario.config);
    const outcomes = await runScenario(driver, scenario, async () => Promise.resolve());
    expect(comparable(outcomes, scenario, [fixture.address])).toEqual(fixture.command);
    expect(driver.violations.filter(({ tolerated }) => !tolerated)).toEqual([]);
    expect(transport.remaining()).toBe(0);
    expect(outcomes).toHaveLength(scenario.steps.length);
  });
});

describe("the comparison", () => {
  it("notices another value, another action, and a missing attribute", async () => {
    const { command } = await readFixture("time");
    const text = JSON.stringify(command);
    for (const [from, to] of [
      ['"unix":1709210096', '"unix":1709210097'],
      ['["delete","create"]', '["update"]'],
      ['"offset_days":1,', ""],
    ] as const) {
      expect(text).toContain(from);
      expect(JSON.parse(text.replace(from, to))).not.toEqual(command);
    }
  });
});
