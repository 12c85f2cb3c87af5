import { type ProviderOrigin, privateOrigin } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { FunctionCaller, FunctionTargetTable } from "@stackwright/fg-bridge";
import type { ExecutionHost } from "./executor.ts";

/**
 * Private providers of the account of a run. Its worker asks the registry, and gives the run how the functions that it needs are called,
 * and of no other. Disposing ends the connections.
 *
 * @param ownHosts hosts that mean the registry of the account
 */
export function jobPrivateProviders(
  host: Pick<ExecutionHost, "readRegistry">,
  ownHosts: readonly string[] = [],
): AsyncDisposable & { readonly origin: ProviderOrigin } {
  const opened = new AsyncDisposableStack();
  const tables = new Map<string, FunctionTargetTable>();
  const projects: string[] = [];
  const origin = privateOrigin({
    resolve: async (source, version) => {
      const { provider } = await host.readRegistry({
        kind: "provider",
        source: source.toString(),
        version,
      });
      if (provider === undefined) {
        throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", "the server is of another release");
      }
      const { functionUrn, versionId, call } = provider;
      if (!tables.has(functionUrn)) {
        const { rows, networks } = call;
        const guard = { allow: networks };
        tables.set(functionUrn, opened.use(new FunctionTargetTable({ ...rows, guard })));
        projects.push(...call.projects);
      }
      return { functionUrn, versionId };
    },
    targets: {
      resolve: (functionUrn, scope) => {
        const table = tables.get(functionUrn);
        if (table !== undefined) return table.resolve(functionUrn, scope);
        throw new EngineError(
          "ENGINE_PROVIDER_UNAVAILABLE",
          `the server named no way to call ${functionUrn}`,
        );
      },
    },
    caller: new FunctionCaller(),
    projects,
    registryHosts: ownHosts,
  });
  return { origin, [Symbol.asyncDispose]: async () => opened.disposeAsync() };
}
