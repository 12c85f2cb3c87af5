/** A moment and the offset of the clock it was written by. */
export interface Timestamp {
  /** Nanoseconds since the beginning of 1970 in UTC. */
  readonly nanoseconds: bigint;
  /** Offset of the clock from UTC, in minutes. */
  readonly offset: number;
  /** Whether the offset was written as `Z`. */
  readonly utc: boolean;
}

const RFC3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/** A time in RFC 3339 format; undefined where it is not one, or not a day of the calendar. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const zone = match[8] ?? "Z";
  const offset = zone === "Z" ? 0 : zoneMinutes(zone);
  if (offset === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset * 60;
  const fraction = BigInt((match[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return { nanoseconds: BigInt(seconds) * 1_000_000_000n + fraction, offset, utc: zone === "Z" };
}

function zoneMinutes(zone: string): number | undefined {
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes);
}

/** The parts of a moment on the clock it was written by. */
export function localParts({ nanoseconds, offset }: Timestamp) {
  const seconds = floorDivide(nanoseconds, 1_000_000_000n);
  const date = new Date(Number(seconds) * 1000 + offset * 60_000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}

function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

/** `+01:00`, or without the colon. */
export function formatOffset(offset: number, separator: string): string {
  const minutes = Math.abs(offset);
  const sign = offset < 0 ? "-" : "+";
  return `${sign}${twoDigits(Math.floor(minutes / 60))}${separator}${twoDigits(minutes % 60)}`;
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** RFC 3339 without a fraction of the second. */
export function formatTimestamp(timestamp: Timestamp): string {
  const { year, month, day, hour, minute, second } = localParts(timestamp);
  const zone = timestamp.offset === 0 ? "Z" : formatOffset(timestamp.offset, ":");
  const date = `${String(year).padStart(4, "0")}-${twoDigits(month)}-${twoDigits(day)}`;
  return `${date}T${twoDigits(hour)}:${twoDigits(minute)}:${twoDigits(second)}${zone}`;
}

const UNITS: Readonly<Record<string, bigint | undefined>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const LONGEST = 2n ** 63n - 1n;

/** A duration such as `-1h30.5m` in nanoseconds; undefined where it is none or too long. */
export function parseDuration(text: string): bigint | undefined {
  const match = /^([+-]?)(.+)$/s.exec(text);
  if (match === null) return undefined;
  const [, sign, body = ""] = match;
  if (body === "0") return 0n;
  const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y;
  let total = 0n;
  while (part.lastIndex < body.length) {
    const found = part.exec(body);
    if (found === null) return undefined;
    const [, whole = "", fraction = "", unit = ""] = found;
    const scale = UNITS[unit];
    if (scale === undefined || whole + fraction === "") return undefined;
    const digits = fraction.slice(0, 18);
    total += BigInt(whole === "" ? 0 : whole) * scale;
    if (digits !== "") total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    if (total > LONGEST) return undefined;
  }
  return sign === "-" ? -total : total;
}
