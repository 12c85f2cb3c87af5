import { type Clock, systemClock } from "@stackwright/base/clock";
import type { RetryPolicy } from "@stackwright/base/retry";
import { ClientError } from "./errors.ts";

export interface ServerClientOptions {
  /** Address of the server, such as `https://stackwright.example.com`. */
  readonly server: string;
  /** Sent as `Authorization: Bearer`, to this server alone. @default none: `fetch` sends a credential, such as a cookie */
  readonly token?: string;
  /** Time of one call with all its attempts, in milliseconds. @default 60,000 */
  readonly timeoutMs?: number;
  /** @default 5 attempts, pauses from 200 ms to 5 s, half of each random */
  readonly retry?: RetryPolicy;
  /** Name and version of the program, for the logs of the server. */
  readonly userAgent?: string;
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch;
  /** @default the clock of the process */
  readonly clock?: Clock;
  /** A number in [0, 1). @default `Math.random` */
  readonly random?: () => number;
  /** Makes the key of a request that may be repeated. @default `crypto.randomUUID` */
  readonly nextKey?: () => string;
}

export interface ResolvedServerClientOptions extends Required<Omit<ServerClientOptions, "token">> {
  readonly token: string | undefined;
}

const RETRY: RetryPolicy = { maxAttempts: 5, initialDelayMs: 200, maxDelayMs: 5_000, jitter: 0.5 };

/** The options with their defaults. `CLIENT_INVALID_ARGUMENT` for an address that is not one of a server, or an empty token. */
export function resolveServerClientOptions(
  options: ServerClientOptions,
): ResolvedServerClientOptions {
  const { timeoutMs = 60_000, token } = options;
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw invalid("the token is empty or has characters that a header cannot carry");
  }
  if (!(timeoutMs > 0)) throw invalid(`the timeout of ${timeoutMs} ms is not positive`);
  return {
    server: serverAddress(options.server),
    token,
    timeoutMs,
    retry: options.retry ?? RETRY,
    userAgent: options.userAgent ?? "stackwright-client",
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    nextKey: options.nextKey ?? (() => globalThis.crypto.randomUUID()),
  };
}

/** The address of a server in one form: `https://host[:port][/path]`, without a slash at the end. */
export function serverAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw invalid(`"${text}" is not a server address; use https://HOST or http://HOST:PORT`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw invalid("a server address has no user, password, query or fragment");
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function invalid(message: string): ClientError {
  return new ClientError("CLIENT_INVALID_ARGUMENT", message);
}
