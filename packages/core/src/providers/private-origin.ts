import type { FunctionCaller, FunctionTargetTable } from "@stackwright/fg-bridge";
import type { ProviderReference } from "@stackwright/mux/router";
import {
  PRIVATE_HOST,
  PRIVATE_NAMESPACE,
  ProviderAddress,
  requireExactVersion,
} from "@stackwright/provider-source";
import type { SchemaCache } from "@stackwright/tfplugin";
import { EngineError } from "../errors.ts";
import type { OpenedProviders, OpenProviderOptions, ProviderOrigin } from "./catalog.ts";

/** What a registry knows of a version of a private provider. */
export interface ResolvedPrivateVersion {
  readonly functionUrn: string;
  /** Another one for another version of the same number: what is known of the one is not true of the other. */
  readonly versionId: string;
}

export interface PrivateOriginOptions {
  /** Asks the registry. Rejects where there is no such provider or version. */
  readonly resolve: (
    source: ProviderAddress,
    version: string,
    options: { readonly signal?: AbortSignal },
  ) => Promise<ResolvedPrivateVersion>;
  /** The operator's table: which function is called where. */
  readonly targets: Pick<FunctionTargetTable, "resolve">;
  readonly caller: FunctionCaller;
  /** Projects whose functions this stack may call. */
  readonly projects: readonly string[];
  /** Hosts of registries whose private providers are the same ones: `<host>/private-provider/<name>`. @default none */
  readonly registryHosts?: readonly string[];
  /** @default one of this origin */
  readonly schemaCache?: SchemaCache;
}

/**
 * Private providers, which live in HTTP functions: `huawei.com/private-provider/<name>` with an exact version leads
 * through the registry to a function, and through the operator's table to where that is called.
 *
 * Source: seed 003 (rules for private providers and their functions).
 */
export function privateOrigin(options: PrivateOriginOptions): ProviderOrigin {
  const { targets, caller, projects, registryHosts = [] } = options;
  let { schemaCache } = options;
  const find = async (
    { source, version }: ProviderReference,
    { signal }: OpenProviderOptions = {},
  ): Promise<ResolvedPrivateVersion & { readonly identity: string }> => {
    const { type } = ProviderAddress.parse(source);
    const address = ProviderAddress.parse(`${PRIVATE_HOST}/${PRIVATE_NAMESPACE}/${type}`);
    const found = await options.resolve(address, version, { ...(signal && { signal }) });
    return { ...found, identity: `${found.versionId} ${found.functionUrn}` };
  };
  return {
    name: "private providers",
    handles: ({ kind, host, namespace }) =>
      kind === "private" || (namespace === PRIVATE_NAMESPACE && registryHosts.includes(host)),
    identify: async (reference, how) => (await find(reference, how)).identity,
    select: async ({ address, constraints }) =>
      Promise.resolve(requireExactVersion(address, constraints.toString()).toString()),
    async open(reference, how): Promise<OpenedProviders> {
      const { source, version } = reference;
      const { functionUrn, versionId, identity } = await find(reference, how);
      const target = targets.resolve(functionUrn, { projects });
      const { createPluginClient, createSchemaCache } = await import("@stackwright/tfplugin");
      schemaCache ??= createSchemaCache();
      const provider = createPluginClient(caller.transport({ target }), {
        schemaCache,
        schemaKey: versionId,
      });
      return [{ name: `${source}@${version}`, provider, identity }];
    },
  };
}

/** The origin where private providers are not available; its error gives the reason. */
export function unavailablePrivateOrigin(why: string): ProviderOrigin {
  const refuse = (source: string): Promise<never> =>
    Promise.reject(
      new EngineError(
        "ENGINE_PROVIDER_UNAVAILABLE",
        `the private provider ${source} is not available: ${why}`,
      ),
    );
  return {
    name: "private providers",
    handles: (source) => source.kind === "private",
    select: async ({ address }) => refuse(address.toString()),
    open: async ({ source }) => refuse(source),
  };
}
