import { ProviderSourceError } from "../errors.ts";

/** Size of a tar record. */
export const RECORD_BYTES = 512;

/** What the header of a tar entry says. */
export interface TarHeader {
  /** Bytes of the name, with the prefix of the header in front. */
  readonly name: Uint8Array;
  readonly mode: number;
  readonly size: number;
  readonly type: string;
}

/** Reads a header. Undefined for the record of zeros at the end of an archive. */
export function readTarHeader(record: Buffer): TarHeader | undefined {
  if (record.every((byte) => byte === 0)) return undefined;
  let sum = 0;
  for (const [at, byte] of record.entries()) sum += at >= 148 && at < 156 ? 32 : byte;
  if (octal(record, 148, 8) !== sum) throw damaged("the checksum of a header is wrong");
  const name = field(record, 0, 100);
  const isUstar = record.toString("latin1", 257, 262) === "ustar";
  const prefix = isUstar ? field(record, 345, 155) : Buffer.alloc(0);
  return {
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from("/"), name]),
    mode: octal(record, 100, 8),
    size: octal(record, 124, 12),
    type: String.fromCharCode(record[156] ?? 0),
  };
}

/** The members of an extended header (POSIX.1-2001), by key. */
export function readPaxMembers(content: Buffer): ReadonlyMap<string, Buffer> {
  const members = new Map<string, Buffer>();
  let at = 0;
  while (at < content.length) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString("latin1", at, space));
    const equals = content.indexOf(0x3d, space);
    const end = at + length;
    const isRecord =
      space > at &&
      Number.isInteger(length) &&
      equals > space &&
      equals < end &&
      end <= content.length;
    if (!isRecord) throw damaged("an extended header is damaged");
    members.set(content.toString("utf8", space + 1, equals), content.subarray(equals + 1, end - 1));
    at = end;
  }
  return members;
}

export function damaged(problem: string, cause?: unknown): ProviderSourceError {
  return new ProviderSourceError(
    "PROVIDER_SOURCE_ARCHIVE_MALFORMED",
    `The archive is refused: ${problem}.`,
    {},
    { cause },
  );
}

function field(record: Buffer, start: number, length: number): Buffer {
  const bytes = record.subarray(start, start + length);
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

function octal(record: Buffer, start: number, length: number): number {
  const text = record
    .toString("latin1", start, start + length)
    .replace(/[\0 ]+$/, "")
    .trimStart();
  if (!/^[0-7]*$/.test(text)) throw damaged("a number of a header is not octal");
  return text === "" ? 0 : Number.parseInt(text, 8);
}
