import type { BlobStore } from "@stackwright/storage/blob";
import type { ExecutionHost } from "./executor.ts";

/** What the parts of the registry of an account work with. */
export interface AccountRegistryParts {
  readonly host: Pick<ExecutionHost, "readRegistry">;
  readonly blobs: BlobStore;
  /** Hosts that mean the registry. */
  readonly ownHosts: readonly string[];
  readonly signal: AbortSignal;
}

/** One protocol of the registry: answers for the paths below its own; undefined for others. */
export type AccountProtocol = (pathname: string) => Promise<Response | undefined>;

/**
 * The registry of the account of a run over the store that the run has already: for addresses of the server itself, without a connection
 * to it. Undefined for other hosts.
 *
 * @param services what service discovery says, by names of services: paths
 */
export function accountRegistry(
  { ownHosts }: Pick<AccountRegistryParts, "ownHosts">,
  services: Readonly<Record<string, string>>,
  protocol: AccountProtocol,
): (url: URL) => Promise<Response | undefined> {
  return async ({ protocol: scheme, host, pathname }) => {
    if (scheme !== "https:" || !ownHosts.includes(host)) return undefined;
    if (pathname === "/.well-known/terraform.json") return json(services);
    return (await protocol(pathname)) ?? missing("there is no such address");
  };
}

export function json(body: object): Response {
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
}

export function missing(error: string): Response {
  const headers = { "content-type": "application/json" };
  return new Response(JSON.stringify({ errors: [error] }), { status: 404, headers });
}
