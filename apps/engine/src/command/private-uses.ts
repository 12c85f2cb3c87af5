import { ProviderAddress } from "@stackwright/provider-source";
import type { StackSnapshot } from "../state/stack-state.ts";
import type { PrivateRegistry } from "./private-registry.ts";

/** Exact versions of private providers that the objects of a stack belong to, as `source@version`. */
export function privateUses({ objects }: Pick<StackSnapshot, "objects">): Set<string> {
  const uses = new Set<string>();
  for (const { provider } of objects.values()) {
    if (ProviderAddress.parse(provider.source).kind === "private") {
      uses.add(`${provider.source}@${provider.version}`);
    }
  }
  return uses;
}

/**
 * Keeps the registry's record of who uses which version: what a stack has now is noted, what it had before and has no more
 * is released. A use of a version that was deleted meanwhile cannot be noted, which is no mistake of the stack.
 */
export async function recordPrivateUses(
  registry: PrivateRegistry,
  user: string,
  uses: { readonly before: ReadonlySet<string>; readonly now: ReadonlySet<string> },
): Promise<void> {
  const { isRegistryError } = await import("@stackwright/registry");
  for (const use of new Set([...uses.before, ...uses.now])) {
    const at = use.lastIndexOf("@");
    const source = ProviderAddress.parse(use.slice(0, at));
    const version = use.slice(at + 1);
    try {
      const { providerId } = await registry.resolve(source, version);
      const used = { name: source.type, version, providerId };
      if (uses.now.has(use)) await registry.recordUse(used, user);
      else await registry.releaseUse(used, user);
    } catch (error) {
      // The version is gone, and its uses with it.
      const isGone =
        isRegistryError(error, "REGISTRY_PROVIDER_NOT_FOUND") ||
        isRegistryError(error, "REGISTRY_VERSION_NOT_FOUND");
      if (!isGone) throw error;
    }
  }
}
