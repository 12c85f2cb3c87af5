/** An address as a number, with the number of bits that its family has. */
interface IpAddress {
  readonly address: bigint;
  readonly bits: 32 | 128;
}

/** An address range: its first address and how many bits all addresses in it share. */
export interface IpPrefix extends IpAddress {
  readonly length: number;
}

/** An address in text, or undefined. Leading zeros of IPv4 numbers are decimal, as they always were here. */
export function parseAddress(text: string): IpAddress | undefined {
  if (!text.includes(":")) {
    const address = parseV4(text);
    return address === undefined ? undefined : { address, bits: 32 };
  }
  const address = parseV6(text);
  if (address === undefined) return undefined;
  // An IPv4 address written as an IPv6 one counts as IPv4.
  return address >> 32n === 0xffffn
    ? { address: address & 0xffffffffn, bits: 32 }
    : { address, bits: 128 };
}

/** An address range in text, or undefined. Bits of the address behind the prefix are dropped. */
export function parsePrefix(text: string): IpPrefix | undefined {
  const slash = text.lastIndexOf("/");
  if (slash === -1) return undefined;
  const written = text.slice(0, slash);
  const address = parseAddress(written);
  const digits = text.slice(slash + 1);
  if (address === undefined || !/^[0-9]{1,3}$/.test(digits)) return undefined;
  let length = Number(digits);
  if (address.bits === 32 && written.includes(":")) length -= 96;
  if (length < 0 || length > address.bits) return undefined;
  const shift = BigInt(address.bits - length);
  return { bits: address.bits, length, address: (address.address >> shift) << shift };
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let address = 0n;
  for (const part of parts) {
    if (!/^[0-9]+$/.test(part) || Number(part) > 255) return undefined;
    address = (address << 8n) | BigInt(part.replace(/^0+(?=.)/, ""));
  }
  return address;
}

function parseV6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const groups = halves.map((half) => parseGroups(half));
  const [front, back] = groups;
  if (front === undefined || groups.includes(undefined)) return undefined;
  const tail = back ?? [];
  const missing = 8 - front.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const all = [...front, ...Array.from({ length: missing }, () => 0), ...tail];
  return all.reduce((address, group) => (address << 16n) | BigInt(group), 0n);
}

/** The groups of a part without `::`, a dotted end as two of them; undefined where one is wrong. */
function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const groups: number[] = [];
  for (const [position, part] of parts.entries()) {
    if (position === parts.length - 1 && part.includes(".")) {
      const v4 = parseV4(part);
      if (v4 === undefined) return undefined;
      groups.push(Number(v4 >> 16n), Number(v4 & 0xffffn));
    } else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return undefined;
    }
  }
  return groups;
}

/** An address in its usual form; in IPv6 the longest run of zeros (of two or more) is left out. */
export function formatAddress(address: bigint, bits: 32 | 128): string {
  if (bits === 32) {
    return [24n, 16n, 8n, 0n].map((shift) => String((address >> shift) & 0xffn)).join(".");
  }
  const groups = Array.from({ length: 8 }, (_, index) =>
    Number((address >> BigInt(112 - 16 * index)) & 0xffffn),
  );
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = (part: number[]): string => part.map((group) => group.toString(16)).join(":");
  if (best.start === -1) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}
