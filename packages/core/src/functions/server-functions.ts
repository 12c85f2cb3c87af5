import type { Logger } from "@stackwright/base/logger";
import type { TargetTableOptions } from "@stackwright/fg-bridge";
import type { BridgeEndpoint } from "@stackwright/fg-bridge/bridge";
import { changesOfSchemas, type ProviderSchema, type SchemaChange } from "@stackwright/mux/router";
import type { BridgeArchiveSource } from "@stackwright/provider-source";
import type { FunctionProbe } from "@stackwright/registry";
import { EngineError } from "../errors.ts";
import { functionProblem } from "./function-problem.ts";
import { loadFunctionTargets } from "./function-targets.ts";

/** How one function is called: the part of a table that is about it, as data. */
export interface FunctionRows {
  readonly projects: readonly string[];
  readonly networks: readonly string[];
  readonly rows: Pick<TargetTableOptions, "functions" | "regions">;
}

/** What a server does with functions. Disposing ends the connections to them. */
interface ServerFunctionTargets extends AsyncDisposable {
  /** Makes the archives with which an unmodified `terraform` uses providers behind functions. */
  readonly bridge: BridgeArchiveSource;
  /** Checks functions. What it rejects with names no address of a function. */
  readonly probe: FunctionProbe;
  /** Asks two functions for their schemas, and compares them. Rejects as a check does where one does not answer as it should. */
  readonly schemaChanges: (
    asked: { readonly account: string; readonly before: string; readonly after: string },
    options: { readonly signal: AbortSignal },
  ) => Promise<readonly SchemaChange[]>;
  /** How a run of an account calls one function, with the credentials for it. */
  readonly callOf: (functionUrn: string, account: string) => FunctionRows;
}

interface ServerFunctionOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly region: string;
  /** Gets what checks of functions found, with their addresses. @default nothing is logged */
  readonly logger?: Logger | undefined;
}

/**
 * What a server needs to serve providers that live in functions, from the operator's table. Only functions of the
 * table's projects are ever called: an account that registers the URN of another owner's function gets no schema of it.
 *
 * `ENGINE_CONFIG_INVALID` for a table that cannot be used, or is for another region.
 */
export async function openServerFunctions(
  path: string,
  { env, region, logger }: ServerFunctionOptions,
): Promise<ServerFunctionTargets> {
  // Loaded where a server has such a table: commands need none of it.
  const [bridgeParts, { createBridgeArchiveSource }] = await Promise.all([
    import("@stackwright/fg-bridge"),
    import("@stackwright/fg-bridge/bridge"),
  ]);
  const { FgBridgeError, FunctionCaller, probeProvider, requireFunctionUrn } = bridgeParts;
  await using resources = new AsyncDisposableStack();
  const { table, targets, rows } = resources.use(await loadFunctionTargets(path, env, "others"));
  if (table.region !== undefined && table.region !== region) {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      `the table of functions "${path}" is for region ${table.region}, the server is ${region}`,
    );
  }
  /** How the bridge of a user reaches a function: as the table says, without its credentials. */
  const endpointOf = (functionUrn: string): BridgeEndpoint => {
    const row = table.functions?.[functionUrn];
    if (row !== undefined) return { kind: "url", url: row.url };
    const platform = table.regions?.[requireFunctionUrn(functionUrn).region];
    if (platform === undefined) {
      throw new FgBridgeError("FG_TARGET_UNKNOWN", `the table has no row for ${functionUrn}`);
    }
    const { endpoint, functionKind } = platform;
    return { kind: "functiongraph", endpoint, ...(functionKind !== undefined && { functionKind }) };
  };
  const caller = new FunctionCaller();
  const transportTo = (functionUrn: string) =>
    caller.transport({
      target: targets.resolve(functionUrn, { projects: table.projects, region }),
    });
  const bridge = await createBridgeArchiveSource({
    targets,
    endpointOf: ({ functionUrn }) => endpointOf(functionUrn),
    networks: table.networks ?? [],
    schemaOf: async ({ functionUrn }, options) => {
      await using transport = transportTo(functionUrn);
      return await transport.unary("GetSchema", new Uint8Array(), options);
    },
  });
  const requireAccount = (account: string): void => {
    if (table.account === undefined || table.account === account) return;
    throw new Error(`functions of account ${account} are not called by this server`);
  };
  const schemaOf = async (
    functionUrn: string,
    options: { readonly signal: AbortSignal },
  ): Promise<ProviderSchema> => {
    const { createPluginClient } = await import("@stackwright/tfplugin");
    const provider = createPluginClient(transportTo(functionUrn));
    try {
      const { schema, diagnostics } = await provider.schema(options);
      const failure = diagnostics.find(({ severity }) => severity === "error");
      if (failure !== undefined) throw new Error(failure.summary);
      return schema;
    } finally {
      await provider.close();
    }
  };
  const owned = resources.move();
  return {
    bridge,
    probe: {
      async probe({ functionUrn, account }, options) {
        requireAccount(account);
        await using transport = transportTo(functionUrn);
        const result = await probeProvider(transport, options);
        if (result.kind === "usable") return { schemaDigest: result.schemaDigest };
        if (result.kind === "refused") throw new Error(result.reason);
        const { cause } = result;
        logger?.warn({ account, function: functionUrn, err: cause }, "a function does not answer");
        throw new Error(functionProblem(cause), { cause });
      },
    },
    async schemaChanges({ account, before, after }, options) {
      requireAccount(account);
      const [was, is] = await Promise.all([schemaOf(before, options), schemaOf(after, options)]);
      return changesOfSchemas(was, is);
    },
    callOf(functionUrn, account) {
      requireAccount(account);
      // Refuses functions of other projects and regions, and those that the table does not have.
      targets.resolve(functionUrn, { projects: table.projects, region });
      const urn = requireFunctionUrn(functionUrn);
      const own = rows.functions?.[urn.text];
      const platform = rows.regions?.[urn.region];
      return {
        projects: table.projects,
        networks: table.networks ?? [],
        rows:
          own === undefined
            ? { regions: platform === undefined ? {} : { [urn.region]: platform } }
            : { functions: { [urn.text]: own } },
      };
    },
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}
