import { BlockList, isIP } from "node:net";
import { EngineError } from "@stackwright/core/errors";
import type { ResolvedServerOptions } from "./server-options.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Whether an address to listen on is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const family = isIP(name);
  if (family === 0) return name === "localhost";
  return LOOPBACK.check(name, family === 6 ? "ipv6" : "ipv4");
}

/**
 * `ENGINE_CONFIG_INVALID` for a server that other machines reach in the clear, unless that is asked for:
 * its tokens and what is in its store would pass the network readable for everyone on the way.
 */
export function checkListening({ host, tls, withoutTls }: ResolvedServerOptions): void {
  if (isLoopback(host) || tls !== undefined || withoutTls === true) return;
  throw new EngineError(
    "ENGINE_CONFIG_INVALID",
    `the server cannot start: other machines reach it at ${host}, and there is no TLS; give it a certificate with --tls-certificate and --tls-key, or --without-tls behind a proxy that has one`,
    { details: { problems: ["host needs tls"] } },
  );
}
