import type { StackSnapshot } from "@stackwright/core";
import { ProviderAddress } from "@stackwright/provider-source";
import type { PrivateRegistry } from "./private-registry.ts";

/**
 * Exact versions of private providers that the objects of a stack belong to, as `source@version`. Data sources count
 * where no object is managed with the provider: each run reads them again, with the version that the configuration then
 * names, and records them only where they differ.
 */
export function privateProviderUsage({ objects }: Pick<StackSnapshot, "objects">): Set<string> {
  const all = [...objects.values()].filter(
    ({ provider }) => ProviderAddress.parse(provider.source).kind === "private",
  );
  const managed = all.filter(({ mode }) => mode === "managed");
  const sources = new Set(managed.map(({ provider }) => provider.source));
  const read = all.filter(({ mode, provider }) => mode === "data" && !sources.has(provider.source));
  return new Set(
    [...managed, ...read].map(({ provider: { source, version } }) => `${source}@${version}`),
  );
}

/**
 * Updates the registry's record of uses: the versions that a stack uses now are recorded, and its other recorded uses
 * are released. The recorded uses are read first, as a run that was killed, or could not reach the registry, has left
 * its uses there. A use of a version that was deleted meanwhile cannot be recorded, which is not an error of the stack.
 *
 * @param sources private providers of which something may be on record
 */
export async function recordProviderUsage(
  registry: PrivateRegistry,
  user: string,
  { sources, now }: { readonly sources: Iterable<string>; readonly now: ReadonlySet<string> },
): Promise<void> {
  const used = [...now].map((use) => {
    const at = use.lastIndexOf("@");
    return { source: use.slice(0, at), version: use.slice(at + 1) };
  });
  for (const text of new Set([...sources, ...used.map(({ source }) => source)])) {
    const source = ProviderAddress.parse(text);
    if (source.kind !== "private") continue;
    const name = source.type;
    const versions = used.filter((use) => use.source === text).map(({ version }) => version);
    for (const version of versions) {
      await ifRegistered(async () => {
        const { providerId } = await registry.resolve(source, version);
        await registry.recordUsage({ name, version, providerId }, user);
      });
    }
    await ifRegistered(async () => {
      for (const version of await registry.listUsage(name, user)) {
        if (!versions.includes(version)) await registry.deleteUsage({ name, version }, user);
      }
    });
  }
}

/** With a provider or a version that is gone its uses are gone, too. */
async function ifRegistered(send: () => Promise<void>): Promise<void> {
  const { isRegistryError } = await import("@stackwright/registry");
  try {
    await send();
  } catch (error) {
    const isGone =
      isRegistryError(error, "REGISTRY_PROVIDER_NOT_FOUND") ||
      isRegistryError(error, "REGISTRY_VERSION_NOT_FOUND");
    if (!isGone) throw error;
  }
}
