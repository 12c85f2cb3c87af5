import { isIP, type LookupFunction } from "node:net";
import { AddressGuard, type Resolver } from "@stackwright/fg-bridge";
import { ServerError } from "../../domain/server-error.ts";

/**
 * The hosts that calls of the server may reach: those of the public internet, and others that the operator names. The addresses that a
 * connection is really opened to are checked, so that a name which changes its address between check and use finds no gap.
 */
export class OutgoingHosts {
  readonly #allowed: ReadonlySet<string>;
  readonly #guard: AddressGuard;

  readonly #option: string;

  /** @param option that names further hosts, for messages */
  constructor(allowed: readonly string[] = [], resolver?: Resolver, option = "--vcs-host") {
    this.#option = option;
    this.#allowed = new Set(allowed.map((host) => host.toLowerCase()));
    this.#guard = new AddressGuard(resolver === undefined ? {} : { resolver });
  }

  /** `unprocessable` for an address that names a private host; one that a name leads to is found when it is called. */
  require(url: URL): void {
    const host = hostOf(url);
    if (this.#isAllowed(host)) return;
    const isLocal = host === "localhost" || host.endsWith(".localhost");
    if (!isLocal && (isIP(host) === 0 || this.#guard.problem(host) === undefined)) return;
    throw new ServerError(
      "unprocessable",
      `${url.host} is in a private network; the operator of the server allows it with ${this.#option} ${host}`,
    );
  }

  /** How a call to an address resolves its host; undefined where it may be any. Rejects for private addresses. */
  lookup(url: URL): LookupFunction | undefined {
    const host = hostOf(url);
    if (this.#isAllowed(host)) return undefined;
    // Of an address nothing is resolved.
    this.require(url);
    return this.#guard.lookup(false);
  }

  /**
   * The addresses that a program has to use for a host, as curl takes them: `HOST:PORT:ADDRESS,...`; undefined where it may use any.
   * Rejects for private addresses.
   */
  async pinned(url: URL): Promise<string | undefined> {
    const host = hostOf(url);
    if (this.#isAllowed(host)) return undefined;
    this.require(url);
    if (isIP(host) !== 0) return undefined;
    const found = await this.#guard.resolve(host, false);
    const addresses = found.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
    return `${host}:${port}:${addresses.join(",")}`;
  }

  #isAllowed(host: string): boolean {
    return this.#allowed.has(host);
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.toLowerCase().replace(/^\[|\]$/g, "");
}
