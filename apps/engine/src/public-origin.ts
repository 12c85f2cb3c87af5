import { isLoopback } from "./listening-rules.ts";
import type { ResolvedServerOptions } from "./server-options.ts";

/**
 * The address of a server as browsers and platforms see it: `--public-host`, or where it listens. In the clear only where it listens in the
 * clear on this machine and has no other name: a proxy in front of it has TLS.
 */
export function publicOrigin(
  { publicHost, host, port, tls, withoutTls }: ResolvedServerOptions,
  boundPort: number | undefined,
): string {
  const named = host.includes(":") ? `[${host}]` : host;
  const shown = publicHost ?? `${named}:${boundPort ?? port}`;
  const isLocal = isLoopback(new URL(`http://${shown}`).hostname);
  const isClear = tls === undefined && withoutTls !== true && isLocal;
  return new URL(`${isClear ? "http" : "https"}://${shown}`).origin;
}
