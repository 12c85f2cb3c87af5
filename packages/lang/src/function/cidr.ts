import { Type, Value } from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import { formatAddress, type IpPrefix, parseAddress, parsePrefix } from "./ip-address.ts";
import {
  argument,
  invalidArgument,
  listOf,
  numberParam,
  text,
  textParam,
  wholeNumberParam,
} from "./parameter.ts";

const prefixParam = textParam("prefix", "the address range, such as 10.0.0.0/16");

function prefixOf(args: readonly Value[], position = 0): IpPrefix {
  return (
    parsePrefix(text(args, position)) ??
    invalidArgument(
      "invalid CIDR expression: an address and a prefix length are required, such as 10.0.0.0/16",
    )
  );
}

function bigWhole(args: readonly Value[], position: number): bigint {
  const value = argument(args, position).asBigFloat();
  if (!value.isInteger) invalidArgument("a whole number is required", position);
  return value.truncate();
}

function show({ address, bits, length }: IpPrefix): string {
  return `${formatAddress(address, bits)}/${length}`;
}

/** The address of a host; negative numbers count from the end of the range. */
function host(prefix: IpPrefix, number: bigint): bigint {
  const size = 1n << BigInt(prefix.bits - prefix.length);
  const offset = number < 0n ? size + number : number;
  if (offset < 0n || offset >= size) {
    invalidArgument(`prefix of ${prefix.length} does not accommodate a host numbered ${number}`);
  }
  return prefix.address + offset;
}

function subnet(prefix: IpPrefix, newBits: number, number: bigint): IpPrefix {
  const length = prefix.length + newBits;
  if (newBits < 0) invalidArgument("the prefix cannot be shortened", 1);
  if (length > prefix.bits) {
    invalidArgument(
      `insufficient address space to extend prefix of ${prefix.length} by ${newBits}`,
    );
  }
  if (number < 0n || number >= 1n << BigInt(newBits)) {
    invalidArgument(
      `prefix extension of ${newBits} does not accommodate a subnet numbered ${number}`,
    );
  }
  return { ...prefix, length, address: prefix.address + (number << BigInt(prefix.bits - length)) };
}

/** Ranges of the given sizes one behind the other, each at the next boundary of its size. */
function subnets(prefix: IpPrefix, extensions: readonly number[]): IpPrefix[] {
  const end = prefix.address + (1n << BigInt(prefix.bits - prefix.length));
  let next = prefix.address;
  return extensions.map((extension, index) => {
    const position = index + 1;
    if (extension < 1) invalidArgument("must extend prefix by at least one bit", position);
    if (extension > 32) invalidArgument("cannot extend prefix by more than 32 bits", position);
    const length = prefix.length + extension;
    if (length > prefix.bits) {
      const protocol = prefix.bits === 32 ? "IPv4" : "IPv6";
      invalidArgument(
        `would extend prefix to ${length} bits, which is too long for an ${protocol} address`,
        position,
      );
    }
    const size = 1n << BigInt(prefix.bits - length);
    const address = ((next + size - 1n) / size) * size;
    if (address + size > end) {
      invalidArgument(
        `not enough remaining address space for a subnet with a prefix of ${length} bits`,
        position,
      );
    }
    next = address + size;
    return { ...prefix, address, length };
  });
}

function contains(range: IpPrefix, inner: IpPrefix): boolean {
  const shift = BigInt(range.bits - range.length);
  return inner.length >= range.length && inner.address >> shift === range.address >> shift;
}

export const NETWORK_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "cidrhost",
    category: "network",
    description: "The address of the host with a number in an address range.",
    parameters: [
      prefixParam,
      numberParam("hostnum", "the number of the host; negative counts from the end"),
    ],
    returns: Type.string,
    call: (args) => {
      const prefix = prefixOf(args);
      return Value.string(formatAddress(host(prefix, bigWhole(args, 1)), prefix.bits));
    },
  },
  {
    name: "cidrnetmask",
    category: "network",
    description: "The netmask of an IPv4 address range.",
    parameters: [prefixParam],
    returns: Type.string,
    call: (args) => {
      const { bits, length } = prefixOf(args);
      if (bits !== 32) invalidArgument("IPv6 addresses cannot have a netmask");
      const mask = ((1n << BigInt(length)) - 1n) << BigInt(32 - length);
      return Value.string(formatAddress(mask, 32));
    },
  },
  {
    name: "cidrsubnet",
    category: "network",
    description: "The subnet with a number, in a range whose prefix is lengthened by some bits.",
    parameters: [
      prefixParam,
      numberParam("newbits", "by how many bits the prefix is lengthened"),
      numberParam("netnum", "the number of the subnet"),
    ],
    returns: Type.string,
    call: (args) =>
      Value.string(show(subnet(prefixOf(args), wholeNumberParam(args, 1), bigWhole(args, 2)))),
  },
  {
    name: "cidrsubnets",
    category: "network",
    description: "Subnets of the given sizes one behind the other.",
    parameters: [prefixParam],
    rest: numberParam("newbits", "by how many bits the prefix of each subnet is lengthened"),
    returns: Type.list(Type.string),
    call: (args) => {
      const extensions = args.slice(1).map((_, index) => wholeNumberParam(args, index + 1));
      const ranges = subnets(prefixOf(args), extensions);
      return listOf(
        ranges.map((range) => Value.string(show(range))),
        Type.string,
      );
    },
  },
  {
    name: "cidrcontains",
    category: "network",
    dialect: "opentofu",
    description: "Whether an address or address range lies within an address range.",
    parameters: [
      textParam("containing_prefix", "the address range"),
      textParam("contained_ip_or_prefix", "the address or address range to look for"),
    ],
    returns: Type.bool,
    call: (args) => {
      const range = prefixOf(args);
      const inner = text(args, 1);
      const address = parseAddress(inner);
      const prefix =
        address === undefined ? parsePrefix(inner) : { ...address, length: address.bits };
      if (prefix === undefined) return invalidArgument("invalid IP address or prefix", 1);
      if (prefix.bits !== range.bits) invalidArgument("the two are of different address families");
      return Value.bool(contains(range, prefix));
    },
  },
];
