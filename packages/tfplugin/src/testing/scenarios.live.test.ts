import { mkdir, mkdtempDisposable, realpath, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import { comparable } from "./compare-outcomes.ts";
import { ProviderDriver } from "./provider-driver.ts";
import { runScenario, type Scenario } from "./scenario.ts";
import { readFixture, writeFixture } from "./scenario-fixture.ts";
import { scenarios } from "./scenarios.ts";
import { findTerraform } from "./terraform-command.ts";
import { changeFiles, runTerraformScenario } from "./terraform-scenario.ts";
import { recordingTransport } from "./transcript.ts";

/* The same configurations through our client and through the real command, with providers that others wrote. */

const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/plain" }).end("hello from the server");
});
let url = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;
});

afterAll(() => server.close());

const programOf = ({ provider }: Scenario) =>
  process.env[`TEST_TOOL_TERRAFORM_PROVIDER_${provider.toUpperCase()}`];

async function drive(scenario: Scenario, command: string) {
  await using folder = await mkdtempDisposable(join(tmpdir(), "drive-"));
  const cwd = await realpath(folder.path);
  await using launched = await launchTerraformProvider({ command, cwd });
  const { transport, transcript } = recordingTransport(launched.transport);
  const driver = await ProviderDriver.configure(createPluginClient(transport), scenario.config);
  const outcomes = await runScenario(driver, scenario, async (files) =>
    changeFiles(cwd, files, async (written) => {
      for (const [name, content] of Object.entries(written)) {
        await mkdir(dirname(join(cwd, name)), { recursive: true });
        await writeFile(join(cwd, name), content);
      }
    }),
  );
  return { outcomes, transcript: transcript(), violations: driver.violations };
}

describe.each(scenarios("").map(({ name }) => name))("the provider %s", (name) => {
  const find = (address: string) => {
    const scenario = scenarios(address).find((candidate) => candidate.name === name);
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
    return scenario;
  };

  it("plans and makes what the command was recorded to", { timeout: 60_000 }, async (ctx) => {
    const scenario = find(url);
    const program = programOf(scenario);
    ctx.skip(program === undefined, `the provider ${name} is not built`);
    const { outcomes, transcript, violations } = await drive(scenario, program ?? "");
    expect(violations.filter(({ tolerated }) => !tolerated)).toEqual([]);
    if (process.env.STACKWRIGHT_RECORD === "1") {
      const terraform = findTerraform();
      if ("absent" in terraform) throw new Error(terraform.absent);
      const command = await runTerraformScenario(scenario, {
        command: terraform.command,
        programFolder: dirname(program ?? ""),
      });
      const recorded = comparable(command, scenario, [url]);
      await writeFixture(name, { address: url, command: recorded, transcript });
    }
    const fixture = await readFixture(name);
    expect(comparable(outcomes, scenario, [url])).toEqual(fixture.command);
  });

  it("is driven by the command as recorded", { timeout: 120_000 }, async (ctx) => {
    const scenario = find(url);
    const program = programOf(scenario);
    ctx.skip(program === undefined, `the provider ${name} is not built`);
    const terraform = findTerraform();
    if ("absent" in terraform) {
      ctx.skip(terraform.absent);
      return;
    }
    const command = await runTerraformScenario(scenario, {
      command: terraform.command,
      programFolder: dirname(program ?? ""),
    });
    const { command: recorded } = await readFixture(name);
    expect(comparable(command, scenario, [url])).toEqual(recorded);
  });
});
