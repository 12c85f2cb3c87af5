import type { PluginClientOptions } from "../client/client-options.ts";
import { createPluginClient } from "../client/plugin-client.ts";
import type { LaunchTerraformOptions } from "../launch/launch-options.ts";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import type { PoolMember } from "./pool-options.ts";

/**
 * Starts a provider process for a pool, with the typed client on top. Where the key of the pool says that it is
 * configured, the caller configures it. Rejects with what `launchTerraformProvider` rejects with.
 */
export async function launchPoolMember(
  launch: LaunchTerraformOptions,
  client?: PluginClientOptions,
): Promise<PoolMember> {
  const process = await launchTerraformProvider(launch);
  return {
    provider: createPluginClient(process.transport, client),
    exited: process.exited,
    checkHealth: (signal) => process.checkHealth(signal),
    close: () => process.close(),
  };
}
