import { BlockList, isIP } from "node:net";
import { hostname } from "node:os";

/**
 * A server as one of all machines: an address that means another server elsewhere, as that of this machine, of a private network or a
 * name without a domain, is extended by the name of this machine.
 */
export function serverIdentity(address: string): string {
  const host = URL.parse(address)?.hostname ?? address;
  return host.startsWith("/") || isRelative(host) ? `${address} of ${hostname()}` : address;
}

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  PRIVATE.addSubnet(network, prefix, "ipv4");
}
PRIVATE.addAddress("::1", "ipv6");
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addSubnet("fe80::", 10, "ipv6");

/** Domains that each network has for itself: those of service directories and clusters, too. */
const OWN_DOMAINS = /\.(?:consul|home\.arpa|internal|lan|local|localhost|svc)$/;

function isRelative(host: string): boolean {
  const name = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  const family = isIP(name);
  if (family !== 0) return PRIVATE.check(name, family === 6 ? "ipv6" : "ipv4");
  return !name.includes(".") || OWN_DOMAINS.test(name);
}
