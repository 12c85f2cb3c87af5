import { CHECKSUM_BYTES, CHECKSUM_TAG } from "../checked-body.ts";
import { decodeResource } from "../codec.ts";
import { StorageError } from "../errors.ts";
import type { Resource } from "../resource.ts";
import type { ResourceHead } from "./types.ts";

// The data is the last field of an encoded resource but for a checksum, and the bytes are the last field of the data.
// So a head is found by walking over the lengths of the fields in front of it, without reading the bytes, and mostly
// without having them.

/** Tags of `hashicorp.consul.resource.Resource` and of `google.protobuf.Any`: field number and wire type. */
const DATA_TAG = (7 << 3) | 2;
const TYPE_URL_TAG = (1 << 3) | 2;
const VALUE_TAG = (2 << 3) | 2;

/** An encoded resource without its data. */
export interface CutBody {
  /** Everything but the data, encoded. */
  readonly envelope: Uint8Array;
  readonly data?: { readonly typeUrl: string; readonly bytes: number };
}

/**
 * Cuts the data from an encoded resource of `size` bytes, of which `start` is the beginning.
 * `undefined` when the beginning is too short to tell. `STORAGE_CORRUPT` when it is no resource.
 */
export function cutBody(start: Uint8Array, size: number): CutBody | undefined {
  const walk = new Walk(start);
  let end = 0;
  while (end < size) {
    const tag = walk.varint();
    if (tag === undefined) return undefined;
    if (tag === CHECKSUM_TAG && end + CHECKSUM_BYTES === size) break;
    const length = walk.varint();
    if (length === undefined) return undefined;
    if ((tag & 7) !== 2 || walk.at + length > size) throw corrupt();
    if (tag === DATA_TAG) {
      const dataEnd = walk.at + length;
      if (dataEnd !== size && dataEnd + CHECKSUM_BYTES !== size) throw corrupt();
      const data = readData(walk, dataEnd);
      return data === undefined ? undefined : { envelope: start.subarray(0, end), data };
    }
    walk.at += length;
    end = walk.at;
  }
  return end > start.byteLength ? undefined : { envelope: start.subarray(0, end) };
}

/** The head of a {@link CutBody} under a version. */
export function decodeHead({ envelope, data }: CutBody, version: string): ResourceHead {
  const { data: _, ...head } = decodeResource(envelope, version);
  return Object.freeze({ ...head, ...(data === undefined ? {} : { data: Object.freeze(data) }) });
}

/** The head of a whole resource. */
export function toHead({ data, ...rest }: Resource): ResourceHead {
  if (data === undefined) return Object.freeze(rest);
  const { typeUrl, value } = data;
  return Object.freeze({ ...rest, data: Object.freeze({ typeUrl, bytes: value.byteLength }) });
}

function readData(walk: Walk, end: number): CutBody["data"] | undefined {
  let typeUrl = "";
  let bytes = 0;
  while (walk.at < end) {
    const tag = walk.varint();
    if (tag === undefined) return undefined;
    const length = walk.varint();
    if (length === undefined) return undefined;
    if (walk.at + length > end) throw corrupt();
    if (tag === TYPE_URL_TAG) {
      const text = walk.text(length);
      if (text === undefined) return undefined;
      typeUrl = text;
    } else if (tag === VALUE_TAG) bytes = length;
    else throw corrupt();
    walk.at += length;
  }
  return { typeUrl, bytes };
}

/** Reads over bytes of which the end may be missing. */
class Walk {
  readonly #bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A number up to 32 bits; `undefined` behind the bytes that are there. */
  varint(): number | undefined {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) return undefined;
      this.at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw corrupt();
  }

  text(length: number): string | undefined {
    if (this.at + length > this.#bytes.byteLength) return undefined;
    return Buffer.from(this.#bytes.subarray(this.at, this.at + length)).toString("utf8");
  }
}

function corrupt(): StorageError {
  return new StorageError("STORAGE_CORRUPT", "a stored resource cannot be decoded");
}
