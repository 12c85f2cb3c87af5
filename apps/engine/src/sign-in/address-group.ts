import { isIPv6 } from "node:net";

/** Whom a limit of requests counts together: an address, and of IPv6 the network of 64 bits that one subscriber has. */
export function addressGroup(address: string): string {
  const [bare = ""] = address.split("%", 1);
  if (!isIPv6(bare)) return address;
  const mapped = /^::ffff:([0-9.]+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = bare.toLowerCase().split("::", 2);
  const left = before === "" ? [] : before.split(":");
  const right = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const groups = [...left, ...zeros, ...right].map((group) => group.replace(/^0+(?=.)/, ""));
  return `${groups.slice(0, 4).join(":")}::/64`;
}
