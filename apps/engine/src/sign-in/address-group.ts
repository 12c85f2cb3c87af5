import { isIPv4, isIPv6 } from "node:net";

/** Whom a limit of requests counts together: an address, and of IPv6 the network of 64 bits that one subscriber has. */
export function addressGroup(address: string): string {
  const parts = read(address);
  return typeof parts === "string" ? parts : `${parts.slice(0, 4).join(":")}::/64`;
}

/**
 * The network that an address may share with others of one customer: 24 bits of IPv4, and of IPv6 the 48 bits that one site has, which is
 * many networks of 64 bits.
 */
export function addressNetwork(address: string): string {
  const parts = read(address);
  if (typeof parts !== "string") return `${parts.slice(0, 3).join(":")}::/48`;
  return isIPv4(parts) ? `${parts.split(".").slice(0, 3).join(".")}.0/24` : parts;
}

/** The eight groups of an IPv6 address; an address of IPv4, and what is no address, as it is. */
function read(address: string): readonly string[] | string {
  const [bare = ""] = address.split("%", 1);
  if (!isIPv6(bare)) return address;
  const mapped = /^::ffff:([0-9.]+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = bare.toLowerCase().split("::", 2);
  const left = before === "" ? [] : before.split(":");
  const right = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  return [...left, ...zeros, ...right].map((group) => group.replace(/^0+(?=.)/, ""));
}
