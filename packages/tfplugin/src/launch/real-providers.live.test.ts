import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetProviderSchema_Response } from "@stackwright/proto/tfplugin5";
import { GetProviderSchema_Response as GetProviderSchema6 } from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
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
