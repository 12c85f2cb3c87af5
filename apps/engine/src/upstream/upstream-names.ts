import { EngineError } from "@stackwright/core/errors";
import { PRIVATE_NAMESPACE } from "@stackwright/provider-source";
import { hostKey } from "@stackwright/tfplugin/install";

/** Where the providers of a namespace of this server come from. */
export interface UpstreamNamespace {
  readonly host: string;
  readonly namespace: string;
}

/** The registries of `HOST` and `HOST=URL`. */
export function upstreamHostsOf(given: readonly string[]): ReadonlyMap<string, string | undefined> {
  return new Map(
    given.map((text) => {
      const at = text.indexOf("=");
      return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/**
 * The namespaces of `NAMESPACE=HOST` and `NAMESPACE=HOST/NAMESPACE`. `ENGINE_CONFIG_INVALID` for a host that is not
 * mirrored, and for a namespace that is named twice or is that of private providers.
 */
export function upstreamNamespacesOf(
  given: readonly string[],
  hosts: Iterable<string>,
): ReadonlyMap<string, UpstreamNamespace> {
  const known = new Set([...hosts].map(hostKey));
  const found = new Map<string, UpstreamNamespace>();
  for (const text of given) {
    const [own = "", place = ""] = text.split("=");
    const [host = "", namespace = own] = place.split("/");
    const invalid = (why: string) =>
      new EngineError("ENGINE_CONFIG_INVALID", `--upstream-namespace ${text}: ${why}`);
    if (!known.has(hostKey(host))) throw invalid(`add --upstream-host ${host}`);
    const name = own.toLowerCase();
    if (name === PRIVATE_NAMESPACE) throw invalid("the namespace is that of private providers");
    if (found.has(name)) throw invalid("the namespace is named twice");
    found.set(name, { host, namespace: namespace.toLowerCase() });
  }
  return found;
}
