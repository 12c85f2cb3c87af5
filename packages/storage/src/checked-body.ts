import { crc32 } from "node:zlib";
import { StorageError } from "./errors.ts";

// A body with its checksum is one field longer than the encoded resource: `fixed32` with the number 1000,
// which is the CRC-32 of all bytes in front of it. Releases that know of no checksum skip the field, as protobuf
// demands of fields that are not known; bodies that they have written have none, and are taken as they are.

/** Tag of the field: number 1000, wire type 5. */
export const CHECKSUM_TAG = (1000 << 3) | 5;

/** The field: its tag, which takes two bytes, and the checksum. */
export const CHECKSUM_BYTES = 6;

const LENGTH_DELIMITED = 2;

/** An encoded resource, followed by its checksum. */
export function addChecksum(body: Uint8Array): Buffer {
  const checked = Buffer.allocUnsafe(body.byteLength + CHECKSUM_BYTES);
  checked.set(body);
  checked[body.byteLength] = (CHECKSUM_TAG & 0x7f) | 0x80;
  checked[body.byteLength + 1] = CHECKSUM_TAG >> 7;
  checked.writeUInt32LE(crc32(body), body.byteLength + 2);
  return checked;
}

/**
 * The encoded resource of a body that may have a checksum; `STORAGE_CORRUPT` when it does not match. The bytes are
 * those of the argument.
 */
export function checkBody(checked: Uint8Array): Uint8Array {
  const end = checksumAt(checked);
  if (end === undefined) return checked;
  const body = checked.subarray(0, end);
  if (Buffer.from(checked.buffer, checked.byteOffset + end + 2, 4).readUInt32LE() === crc32(body)) {
    return body;
  }
  throw new StorageError("STORAGE_CORRUPT", "the checksum of a stored resource does not match");
}

/**
 * Where the checksum begins, or `undefined` without one. Found from the front, as the last bytes of a body without one
 * are the caller's and may be anything. All fields of a resource have lengths; where they do not lead to the end,
 * the content is damaged.
 */
function checksumAt(bytes: Uint8Array): number | undefined {
  let at = 0;
  while (at < bytes.byteLength) {
    const tag = varint(bytes, at);
    if (tag?.value === CHECKSUM_TAG && at + CHECKSUM_BYTES === bytes.byteLength) return at;
    const length = tag === undefined ? undefined : varint(bytes, tag.end);
    if (tag === undefined || (tag.value & 7) !== LENGTH_DELIMITED || length === undefined) break;
    at = length.end + length.value;
  }
  if (at === bytes.byteLength) return undefined;
  throw new StorageError("STORAGE_CORRUPT", "a stored resource cannot be decoded");
}

function varint(
  bytes: Uint8Array,
  start: number,
): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[start + shift / 7];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, end: start + shift / 7 + 1 };
  }
  return undefined;
}
