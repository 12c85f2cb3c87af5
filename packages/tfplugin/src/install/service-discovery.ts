import { hostKey } from "./cli-configuration.ts";
import type { InstallHttpClient } from "./http-client.ts";

/** The address of a service of a host; undefined where the host does not offer it. */
export type ServiceDiscovery = (
  host: string,
  service: string,
  signal: AbortSignal | undefined,
) => Promise<URL | undefined>;

export interface ServiceDiscoveryOptions {
  readonly http: InstallHttpClient;
  /** Service URLs by host, which take the place of discovery. @default none */
  readonly hosts?: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/**
 * Finds the services of hosts by their document `/.well-known/terraform.json`, which is read once for each host that has the service.
 *
 * Source: Terraform's remote service discovery.
 */
export function serviceDiscovery({
  http,
  hosts = new Map(),
}: ServiceDiscoveryOptions): ServiceDiscovery {
  const read = new Map<string, Promise<ReadonlyMap<string, unknown>>>();

  function servicesOf(
    host: string,
    document: URL,
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, unknown>> {
    const known = read.get(host);
    if (known !== undefined) return known;
    const found = http
      .json(document, { authorize: true, signal })
      .then((services) => new Map(Object.entries(services ?? {})));
    read.set(host, found);
    // What failed may work the next time.
    found.catch(() => read.delete(host));
    return found;
  }

  return async (host, service, signal) => {
    const document = new URL(`https://${host}/.well-known/terraform.json`);
    const services = hosts.get(hostKey(host)) ?? (await servicesOf(host, document, signal));
    const address: unknown = services.get(service);
    // A document without it may be one bad answer, and a server lives long: it is read again.
    if (address === undefined) read.delete(host);
    if (typeof address !== "string" || !URL.canParse(address, document.href)) return undefined;
    return new URL(address, document);
  };
}
