import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { type AuditSink } from "../audit.ts";
import { FgBridgeError } from "../errors.ts";

/** Finds the addresses of a host. */
export type Resolver = (host: string) => Promise<readonly LookupAddress[]>;

export interface AddressGuardOptions {
  /**
   * Networks in CIDR form that may be reached although they are private: `127.0.0.0/8`, `10.1.0.0/16`,
   * `fd00::/8`. @default none
   */
  readonly allow?: readonly string[];
  /** @default that of the system */
  readonly resolver?: Resolver;
  readonly onAudit?: AuditSink;
}

/** Networks that are not the public internet: RFC 6890 and what clouds put there. */
const PRIVATE_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/** Inside 2000::/3; everything outside of it is refused as a whole. */
const PRIVATE_V6 = ["2001::/23", "2001:db8::/32", "3fff::/20"];

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix = "", ...rest] = network.split("/");
    const family = isIP(address);
    const bits = Number(prefix);
    if (
      family === 0 ||
      rest.length > 0 ||
      !/^\d+$/.test(prefix) ||
      bits > (family === 4 ? 32 : 128)
    ) {
      throw new FgBridgeError("FG_OPTIONS_INVALID", `"${network}" is not a network`);
    }
    list.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

const privateV4 = blockList(PRIVATE_V4);
const privateV6 = blockList(PRIVATE_V6);
const publicV6 = blockList(["2000::/3"]);

/** The 16 bytes of an IPv6 address. */
function bytesOf(address: string): number[] {
  // A dotted end is two groups.
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const plain =
    dotted === null
      ? address
      : `${dotted[1]}${group(dotted[2], dotted[3])}:${group(dotted[4], dotted[5])}`;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const gap =
    tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...gap, ...right].flatMap((part) => {
    const value = Number.parseInt(part, 16);
    return [value >> 8, value & 0xff];
  });
}

function group(high: string | undefined, low: string | undefined): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}

/**
 * The IPv4 address that an IPv6 one represents, in any of these forms: mapped, compatible, translated, NAT64 (well
 * known and local), 6to4.
 */
function embeddedV4(bytes: readonly number[]): string | undefined {
  const starts = (...prefix: number[]) => prefix.every((byte, i) => bytes[i] === byte);
  const at = (start: number) => bytes.slice(start, start + 4).join(".");
  const zeros = (count: number) => bytes.slice(0, count).every((byte) => byte === 0);
  if (zeros(10) && bytes[10] === 0xff && bytes[11] === 0xff) return at(12);
  if (zeros(8) && bytes[8] === 0xff && bytes[9] === 0xff && bytes[10] === 0) return at(12);
  if (zeros(12)) return at(12);
  if (starts(0, 0x64, 0xff, 0x9b)) return at(12);
  if (starts(0x20, 0x02)) return at(2);
  return undefined;
}

/**
 * Keeps requests inside the networks that an operator allows: the public internet, and listed private ones.
 *
 * The check is made on the addresses that a connection is really opened to, after resolving, and the connection
 * uses just those; a name that changes its address between check and use finds no gap. One refused address
 * among several refuses the host.
 */
export class AddressGuard {
  readonly #allow: BlockList;
  readonly #resolver: Resolver;
  readonly #onAudit: AuditSink;

  constructor(options: AddressGuardOptions = {}) {
    this.#allow = blockList(options.allow ?? []);
    this.#resolver = options.resolver ?? resolveBySystem;
    this.#onAudit = options.onAudit ?? (() => undefined);
  }

  /** Why this address must not be reached; `undefined` when it may be. */
  problem(address: string): string | undefined {
    const family = isIP(address);
    if (family === 0) return "it is not an IP address";
    // An interface is chosen by a zone, which no function needs.
    if (address.includes("%")) return "it has a zone";
    if (this.#allow.check(address, family === 4 ? "ipv4" : "ipv6")) return undefined;
    if (family === 4) {
      return privateV4.check(address, "ipv4") ? "it is in a private or special network" : undefined;
    }
    const inner = embeddedV4(bytesOf(address));
    if (inner !== undefined) return this.problem(inner);
    const isPublic = publicV6.check(address, "ipv6") && !privateV6.check(address, "ipv6");
    return isPublic ? undefined : "it is in a private or special network";
  }

  /** Whether the address is this machine itself. */
  static isLoopback(address: string): boolean {
    const family = isIP(address);
    if (family === 4) return address.startsWith("127.");
    if (family !== 6 || address.includes("%")) return false;
    const bytes = bytesOf(address);
    const inner = embeddedV4(bytes);
    const isOne = bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
    return isOne || (inner?.startsWith("127.") ?? false);
  }

  /**
   * The addresses of a host, all of them checked.
   *
   * @throws FgBridgeError `FG_ADDRESS_REFUSED`, `FG_UNREACHABLE` for names that do not resolve
   */
  async resolve(host: string, onlyLoopback: boolean): Promise<readonly LookupAddress[]> {
    const addresses =
      isIP(host) === 0 ? await this.#lookup(host) : [{ address: host, family: isIP(host) }];
    for (const { address } of addresses) {
      const problem =
        this.problem(address) ??
        (onlyLoopback && !AddressGuard.isLoopback(address)
          ? "only this machine may be reached without TLS"
          : undefined);
      if (problem !== undefined) {
        const reason = `${address} must not be reached: ${problem}`;
        this.#onAudit({
          kind: "address-refused",
          code: "FG_ADDRESS_REFUSED",
          reason,
          subject: host,
        });
        throw new FgBridgeError("FG_ADDRESS_REFUSED", reason);
      }
    }
    return addresses;
  }

  /** {@link resolve} in the form that `node:net` asks for, to be given to a connection. */
  lookup(onlyLoopback: boolean): LookupFunction {
    return (host, options, callback) => {
      void this.#answer(host, onlyLoopback, options.all === true, callback);
    };
  }

  async #answer(
    host: string,
    onlyLoopback: boolean,
    all: boolean,
    callback: Parameters<LookupFunction>[2],
  ): Promise<void> {
    let addresses: readonly LookupAddress[];
    try {
      addresses = await this.resolve(host, onlyLoopback);
    } catch (error) {
      callback(error as NodeJS.ErrnoException, "", 0);
      return;
    }
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 0);
  }

  async #lookup(host: string): Promise<readonly LookupAddress[]> {
    let found: readonly LookupAddress[];
    try {
      found = await this.#resolver(host);
    } catch (cause) {
      throw new FgBridgeError("FG_UNREACHABLE", `the host ${host} cannot be resolved`, { cause });
    }
    if (found.length === 0) {
      throw new FgBridgeError("FG_UNREACHABLE", `the host ${host} has no address`);
    }
    return found;
  }
}

function resolveBySystem(host: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}
