import { ProviderAddress } from "@stackwright/provider-source";
import { isRegistryError } from "@stackwright/registry";
import { hostKey } from "@stackwright/tfplugin/install";
import type { DueProviderChange } from "../live/due-provider-changes.ts";
import type { FindStanding } from "../upstream/provider-standing.ts";
import type { UpstreamNamespace } from "../upstream/upstream-names.ts";
import type { FindProvider } from "../worker/read-registry.ts";

/** What knows the registries of the server. */
export interface ConfirmingParts {
  /** @default the server has no registry of published and mirrored providers */
  readonly findStanding?: FindStanding | undefined;
  /** @default the server has no private providers */
  readonly findProvider?: FindProvider | undefined;
  readonly namespaces: ReadonlyMap<string, UpstreamNamespace>;
  /** Hosts under which the server offers what was published to it. */
  readonly servedHosts: () => readonly string[];
}

/** Whether a change is one of the provider that a stack means, which the account of the stack sees, and is still so. */
export async function confirmChange(
  parts: ConfirmingParts,
  { stack: { account }, source, change }: DueProviderChange,
): Promise<boolean> {
  const address = ProviderAddress.parse(source);
  const isServed = parts.servedHosts().includes(address.host);
  if (change.origin === "private") {
    const isIt = isServed || address.host === change.host;
    if (!isIt || parts.findProvider === undefined) return false;
    const own = `${change.host}/${change.provider}`;
    const isThere = await parts.findProvider(account, own, change.version).then(
      () => true,
      (error: unknown) => {
        const isAbsent =
          isRegistryError(error, "REGISTRY_PROVIDER_NOT_FOUND") ||
          isRegistryError(error, "REGISTRY_VERSION_NOT_FOUND");
        if (isAbsent) return false;
        throw error;
      },
    );
    return isThere === (change.change === "published");
  }
  const mirrored = isServed ? parts.namespaces.get(address.namespace) : undefined;
  if (change.origin === "published" && (!isServed || mirrored !== undefined)) return false;
  if (change.origin === "upstream") {
    const { host, namespace } = mirrored ?? address;
    const isIt =
      hostKey(host) === hostKey(change.host) && `${namespace}/${address.type}` === change.provider;
    if (!isIt) return false;
  }
  const standing = await parts.findStanding?.(account, address, change.version);
  const { change: what } = change;
  return standing?.state === (what === "withdrawn" || what === "quarantined" ? what : "usable");
}
