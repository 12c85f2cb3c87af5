import { mkdtempDisposable, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import { startReattachServer } from "../serve/index.ts";
import { findTerraform, TerraformFolder } from "../testing/terraform-command.ts";
import { createPluginMux, upgradeToProtocol6 } from "./index.ts";

/* The real command with a provider that is several real ones joined, in the protocol of each and in the other. */

const NAMES = ["random", "null", "time"] as const;
const SOURCE = "example.com/test/joined";
const variableOf = (name: string) => `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`;

function configuration(trigger: string): string {
  const resource = (body: object) => ({ it: { provider: "joined", ...body } });
  return JSON.stringify({
    terraform: { required_providers: { joined: { source: SOURCE } } },
    resource: {
      random_pet: resource({ keepers: { trigger } }),
      null_resource: resource({ triggers: { pet: "${random_pet.it.id}" } }),
      time_static: resource({ rfc3339: "2024-02-29T12:34:56Z" }),
    },
    output: {
      year: { value: "${time_static.it.year}" },
      day: { value: '${provider::joined::rfc3339_parse("2024-02-29T12:34:56Z").day}' },
    },
  });
}

it.for([5, 6] as const)(
  "is driven by the command under protocol %i",
  { timeout: 120_000 },
  async (protocol, ctx) => {
    const terraform = findTerraform();
    if ("absent" in terraform) {
      ctx.skip(terraform.absent);
      return;
    }
    for (const name of NAMES) {
      ctx.skip(process.env[variableOf(name)] === undefined, `${variableOf(name)} is not set`);
    }
    await using stack = new AsyncDisposableStack();
    const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "mux-")));
    const cwd = await realpath(scratch.path);
    const members = [];
    for (const name of NAMES) {
      const command = process.env[variableOf(name)] ?? "";
      const { transport } = stack.use(await launchTerraformProvider({ command, cwd }));
      members.push({ name, transport: protocol === 6 ? upgradeToProtocol6(transport) : transport });
    }
    const provider = createPluginMux(members);
    const server = stack.use(await startReattachServer({ name: SOURCE, provider }));
    const folder = stack.use(
      await TerraformFolder.create({
        command: terraform.command,
        files: { "main.tf.json": configuration("one") },
        environment: server.variable,
      }),
    );
    await folder.run("init");
    await folder.run("apply", "-auto-approve");
    const outputs = JSON.parse(await folder.run("output", "-json")) as Record<
      string,
      { value: unknown }
    >;
    expect([outputs.year?.value, outputs.day?.value]).toEqual([2024, 29]);
    // Exit code 0 says that there is nothing to do; anything else is thrown.
    await folder.run("plan", "-detailed-exitcode");
    await folder.write({ "main.tf.json": configuration("two") });
    const changed = await folder.run("apply", "-auto-approve", "-no-color");
    expect(changed).toContain("2 added, 0 changed, 2 destroyed");
    const destroyed = await folder.run("destroy", "-auto-approve", "-no-color");
    expect(destroyed).toContain("3 destroyed");
  },
);
