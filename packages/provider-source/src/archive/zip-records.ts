/**
 * The records of the zip format that archives here consist of (PKWARE APPNOTE, sections 4.3 and
 * 4.5.3): local header, data descriptor, central header, end record, and for reading the 64-bit
 * end record, its locator and the 64-bit extra field.
 */

export const LOCAL_SIGNATURE = 0x04034b50;
export const DESCRIPTOR_SIGNATURE = 0x08074b50;
export const CENTRAL_SIGNATURE = 0x02014b50;
export const END_SIGNATURE = 0x06054b50;
export const END64_SIGNATURE = 0x06064b50;
export const LOCATOR64_SIGNATURE = 0x07064b50;

export const LOCAL_BYTES = 30;
export const CENTRAL_BYTES = 46;
export const END_BYTES = 22;
export const END64_BYTES = 56;
export const LOCATOR64_BYTES = 20;

/** In a 32-bit field: the value is in the 64-bit extra field. */
export const IN_EXTRA_32 = 0xffff_ffff;
/** In a 16-bit field: the value is in the 64-bit record. */
export const IN_EXTRA_16 = 0xffff;

export const FLAG_ENCRYPTED = 1 << 0;
/** Sizes and checksum stand behind the data. */
export const FLAG_DESCRIPTOR = 1 << 3;
export const FLAG_STRONG_ENCRYPTION = 1 << 6;
/** The name is UTF-8. */
export const FLAG_UTF8 = 1 << 11;
export const FLAG_MASKED_HEADERS = 1 << 13;

export const METHOD_STORED = 0;
export const METHOD_DEFLATED = 8;

/** 2.0: deflate and directories. */
export const VERSION_NEEDED = 20;
/** Made on Unix, so that the upper half of the external attributes is a mode. */
export const HOST_UNIX = 3;
/** The hosts whose external attributes have a mode: Unix and macOS. */
export const UNIX_HOSTS: readonly number[] = [HOST_UNIX, 19];

/** The type bits of a Unix mode. */
export const MODE_TYPE_MASK = 0o170000;
export const MODE_REGULAR = 0o100000;
export const MODE_DIRECTORY = 0o040000;

/** 1980-01-01 00:00:00, the first moment that the format can name. */
export const FIXED_DATE = 0x0021;
export const FIXED_TIME = 0;

const EXTRA64_ID = 0x0001;

/** A buffer with the little-endian fields of a record written one after the other. */
export function packRecord(fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  const record = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields) {
    if (bytes === 2) record.writeUInt16LE(value, at);
    else record.writeUInt32LE(value >>> 0, at);
    at += bytes;
  }
  return record;
}

/**
 * The 64-bit values of an extra area for those fields that are full in the record, in their order.
 * Undefined if the area is malformed or too short for them, or a value is beyond 2^53.
 */
export function readExtra64(extra: Buffer, fields: readonly number[]): number[] | undefined {
  if (!fields.includes(IN_EXTRA_32)) return [...fields];
  for (let at = 0; at + 4 <= extra.length; ) {
    const id = extra.readUInt16LE(at);
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (end > extra.length) return undefined;
    if (id === EXTRA64_ID) {
      let next = at + 4;
      const values: number[] = [];
      for (const field of fields) {
        if (field !== IN_EXTRA_32) {
          values.push(field);
          continue;
        }
        if (next + 8 > end) return undefined;
        const value = Number(extra.readBigUInt64LE(next));
        if (!Number.isSafeInteger(value)) return undefined;
        values.push(value);
        next += 8;
      }
      return values;
    }
    at = end;
  }
  return undefined;
}
