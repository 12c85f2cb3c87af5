import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetProviderSchema_Response } from "@stackwright/proto/tfplugin5";
import { GetProviderSchema_Response as GetProviderSchema6 } from "@stackwright/proto/tfplugin6";
import { describe, expect, it, vi } from "vitest";
import { handles, isThere } from "../testing/programs/programs.ts";
import { stackEnvironment } from "./environment.ts";
import { launchTerraformProvider } from "./launch-provider.ts";

/* Providers that others wrote, built from their Go modules. */

const PROVIDERS = [
  { name: "random", protocol: 5, type: "random_pet" },
  { name: "null", protocol: 5, type: "null_resource" },
  { name: "local", protocol: 5, type: "local_file" },
  { name: "tls", protocol: 5, type: "tls_private_key" },
  { name: "time", protocol: 5, type: "time_static" },
  { name: "archive", protocol: 5, type: "archive_file" },
  { name: "http", protocol: 5, type: "http" },
  { name: "lab", protocol: 6, type: "lab_object" },
  { name: "scaffolding", protocol: 6, type: "pfprovider_primitive" },
] as const;

const variableOf = (name: string) => `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`;

describe.each(PROVIDERS)("the provider $name", ({ name, protocol, type }) => {
  const command = process.env[variableOf(name)] ?? "";

  it("starts encrypted, answers, and ends when it is asked to", async (ctx) => {
    ctx.skip(command === "", `${variableOf(name)} is not set`);
    await using scratch = await mkdtempDisposable(join(tmpdir(), "launch-"));
    const provider = await launchTerraformProvider({
      command,
      env: stackEnvironment({ variables: {}, own: process.env }),
      runtimeDirectory: scratch.path,
    });
    await provider.checkHealth();
    const method = protocol === 5 ? "GetSchema" : "GetProviderSchema";
    const bytes = await provider.transport.unary(method, new Uint8Array(), {});
    const schema =
      protocol === 5 ? GetProviderSchema_Response.decode(bytes) : GetProviderSchema6.decode(bytes);
    const types = [...schema.resourceSchemas.keys(), ...schema.dataSourceSchemas.keys()];
    const { pid = 0 } = provider;
    await provider.close();

    expect(provider.protocol).toBe(protocol);
    expect(types).toContain(type);
    expect(provider.exit).toEqual({ code: 0, signal: undefined });
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(await readdir(scratch.path)).toEqual([]);
  });
});

it("a provider is started and ended many times, and leaves nothing", async (ctx) => {
  const command = process.env[variableOf("null")] ?? "";
  ctx.skip(command === "", `${variableOf("null")} is not set`);
  const cycles = Math.ceil(20 * Number(process.env.STACKWRIGHT_RUNS ?? 1));
  await using scratch = await mkdtempDisposable(join(tmpdir(), "cycles-"));
  const cycle = async (): Promise<number> => {
    // Its go-plugin is from 2019 and knows no folder for sockets but TMPDIR.
    const env = stackEnvironment({ variables: {}, own: process.env });
    const options = { command, env, runtimeDirectory: scratch.path };
    await using provider = await launchTerraformProvider(options);
    await provider.transport.unary("GetSchema", new Uint8Array(), {});
    return provider.pid ?? 0;
  };
  await cycle();
  const before = handles();
  const files = async () => (await readdir("/proc/self/fd").catch(() => [])).length;
  const filesBefore = await files();
  const pids: number[] = [];
  for (let count = 0; count < cycles; count += 1) pids.push(await cycle());
  await vi.waitFor(async () => {
    expect(handles()).toEqual(before);
    expect(await files()).toBeLessThanOrEqual(filesBefore);
  });
  expect(pids.filter(isThere)).toEqual([]);
  expect(await readdir(scratch.path)).toEqual([]);
  await ctx.annotate(`${cycles} cycles`, "count");
}, 600_000);
