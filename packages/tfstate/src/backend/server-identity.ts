import { hostname } from "node:os";

/** A server as one of all machines: an address that every machine has for itself is extended by the name of this one. */
export function serverIdentity(address: string): string {
  const host = URL.parse(address)?.hostname ?? address;
  const isOwn =
    host === "localhost" || host === "[::1]" || host === "::1" || host.startsWith("127.");
  return isOwn || host.startsWith("/") ? `${address} of ${hostname()}` : address;
}
