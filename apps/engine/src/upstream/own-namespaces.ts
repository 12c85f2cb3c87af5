import type { PublishedName, PublishedProviders } from "@stackwright/registry/terraform";
import { isServerError } from "../domain/server-error.ts";
import type { UpstreamMirror } from "./upstream-mirror.ts";
import type { UpstreamNamespace } from "./upstream-names.ts";

/** The providers that runs find in the registry of their server: those that users published, and those of its upstream namespaces. */
export function withUpstreamNamespaces(
  published: PublishedProviders,
  mirror: Pick<UpstreamMirror, "address" | "releases" | "download" | "package">,
  namespaces: ReadonlyMap<string, UpstreamNamespace>,
): PublishedProviders {
  const addressOf = ({ namespace, type }: PublishedName) => {
    const place = namespaces.get(namespace);
    return place && mirror.address(place.host, place.namespace, type);
  };
  return {
    ...published,
    async versions(account, name, options) {
      if (!namespaces.has(name.namespace)) return published.versions(account, name, options);
      const address = addressOf(name);
      return address === undefined ? [] : ((await known(mirror.releases(account, address))) ?? []);
    },
    async package(account, name, version, platform, options) {
      if (!namespaces.has(name.namespace)) {
        return published.package(account, name, version, platform, options);
      }
      const address = addressOf(name);
      if (address === undefined) return undefined;
      const found = await known(mirror.download(account, address, version, platform));
      // From here on its archive is in the blob store.
      const kept = found && (await known(mirror.package(account, address, version, platform)));
      return kept && { ...found, ...kept };
    },
  };
}

/** Undefined for what an upstream registry does not have. */
async function known<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isServerError(error, "not_found")) return undefined;
    throw error;
  }
}
