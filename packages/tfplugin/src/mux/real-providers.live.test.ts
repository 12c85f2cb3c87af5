import { mkdtempDisposable, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import { comparable } from "../testing/compare-outcomes.ts";
import { ProviderDriver } from "../testing/provider-driver.ts";
import { runScenario } from "../testing/scenario.ts";
import { readFixture } from "../testing/scenario-fixture.ts";
import { scenarios } from "../testing/scenarios.ts";
import { createPluginMux, upgradeToProtocol6 } from "./index.ts";

/*
 * Providers that others wrote, joined to one, come to the plans and states that the command came to with each of them
 * alone. Their own configurations are all empty, as those of joined providers have to be alike.
 */

const NAMES = ["random", "null", "time"] as const;
const variableOf = (name: string) => `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`;

describe.each([5, 6] as const)("real providers joined under protocol %i", (protocol) => {
  for (const name of NAMES) {
    it(`plan and make what ${name} does alone`, { timeout: 60_000 }, async (ctx) => {
      for (const each of NAMES) {
        ctx.skip(process.env[variableOf(each)] === undefined, `${variableOf(each)} is not set`);
      }
      await using stack = new AsyncDisposableStack();
      const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "mux-")));
      const cwd = await realpath(folder.path);
      const members = [];
      for (const each of NAMES) {
        const command = process.env[variableOf(each)] ?? "";
        const { transport } = stack.use(await launchTerraformProvider({ command, cwd }));
        const raised = protocol === 6 ? upgradeToProtocol6(transport) : transport;
        members.push({ name: each, transport: raised });
      }
      const client = stack.use(createPluginClient(createPluginMux(members)));
      const driver = await ProviderDriver.configure(client);
      expect(driver.declared.diagnostics).toEqual([]);
      const scenario = scenarios("").find((candidate) => candidate.name === name);
      if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
      const outcomes = await runScenario(driver, scenario, async () => Promise.resolve());
      const { command } = await readFixture(name);
      expect(comparable(outcomes, scenario)).toEqual(command);
      expect(driver.violations.filter(({ tolerated }) => !tolerated)).toEqual([]);
    });
  }
});
