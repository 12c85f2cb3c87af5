import { normalizeString } from "../text/strings.ts";
import { isCollectionType, type Type } from "../type/type.ts";
import type { Unknown } from "../value/payload.ts";
import { refinedUnknown } from "../value/refine.ts";
import {
  compactRefinement,
  intersectRefinements,
  type NumberBound,
  type Refinement,
} from "../value/refinement.ts";
import { truncatedKnownPrefix } from "../value/safe-prefix.ts";
import { Value } from "../value/value.ts";
import { readNumber, writeNumber } from "./msgpack-number.ts";
import { type Extension, MsgpackReader } from "./msgpack-reader.ts";
import { MsgpackWriter } from "./msgpack-writer.ts";

/** Extension type of unknowns with refinements. */
const REFINED = 12;
/** Longest body of such an extension that is read. */
const MAX_BODY = 1024;
/** Longest prefix, in UTF-8 bytes, that is written as it is. */
const MAX_PREFIX = 256;

/** Keys of the map in the body of the extension. */
const KEY = { nullness: 1, prefix: 2, min: 3, max: 4, minLength: 5, maxLength: 6 } as const;

const PLAIN = Uint8Array.of(0xd4, 0, 0);

/** Writes an unknown: three fixed bytes, or an extension with what is known about it. */
export function writeUnknown(writer: MsgpackWriter, unknown: Unknown): void {
  const { refinement } = unknown;
  if (refinement === undefined) {
    writer.raw(PLAIN);
    return;
  }
  const body = new MsgpackWriter(32);
  body.mapHeader(Object.keys(refinement).length);
  if (refinement.notNull === true) {
    body.integer(KEY.nullness);
    body.bool(false);
  }
  if (refinement.min !== undefined) writeBound(body, KEY.min, refinement.min);
  if (refinement.max !== undefined) writeBound(body, KEY.max, refinement.max);
  if (refinement.prefix !== undefined) {
    body.integer(KEY.prefix);
    body.string(truncatedKnownPrefix(refinement.prefix, MAX_PREFIX));
  }
  if (refinement.minLength !== undefined) {
    body.integer(KEY.minLength);
    body.integer(refinement.minLength);
  }
  if (refinement.maxLength !== undefined) {
    body.integer(KEY.maxLength);
    body.integer(refinement.maxLength);
  }
  writer.extension(REFINED, body.finish());
}

function writeBound(writer: MsgpackWriter, key: number, bound: NumberBound): void {
  writer.integer(key);
  writer.arrayHeader(2);
  writeNumber(writer, bound.value);
  writer.bool(bound.inclusive);
}

/**
 * The value that an extension stands for: any extension with at most one byte of body is a plain unknown. Refinements may
 * leave just one value, which is then known. Statements with unknown keys are ignored. Throws `CTY_MSGPACK`,
 * `CTY_REFINEMENT`.
 */
export function readUnknown(reader: MsgpackReader, extension: Extension, type: Type): Value {
  if (extension.body.length <= 1) return Value.unknown(type);
  if (extension.type !== REFINED) throw reader.error("unsupported extension");
  if (extension.body.length > MAX_BODY) throw reader.error("too many bytes of refinements");
  const body = new MsgpackReader(extension.body, "error");
  const count = body.mapSize();
  if (type.kind === "dynamic") return Value.dynamic;
  let refinement: Refinement = {};
  for (let i = 0; i < count; i += 1) {
    const key = body.number();
    if (key === undefined || !("integer" in key)) throw reader.error("malformed refinements");
    const stated = readStatement(body, Number(key.integer), type);
    if (stated === "null") return Value.null(type);
    refinement = intersectRefinements(refinement, stated);
  }
  return refinedUnknown(type, compactRefinement(refinement) ?? {});
}

function readStatement(body: MsgpackReader, key: number, type: Type): Refinement | "null" {
  switch (key) {
    case KEY.nullness:
      return body.bool() ? "null" : { notNull: true };
    case KEY.prefix:
      expect(body, type.kind === "string");
      return { prefix: normalizeString(body.string()) };
    case KEY.min:
      expect(body, type.kind === "number");
      return { min: readBound(body) };
    case KEY.max:
      expect(body, type.kind === "number");
      return { max: readBound(body) };
    case KEY.minLength:
      expect(body, isCollectionType(type));
      return { minLength: readLength(body) };
    case KEY.maxLength:
      expect(body, isCollectionType(type));
      return { maxLength: readLength(body) };
    default:
      body.skip();
      return {};
  }
}

function expect(body: MsgpackReader, fits: boolean): void {
  if (!fits) throw body.error("a refinement does not fit the type");
}

function readBound(body: MsgpackReader): NumberBound {
  if (body.arraySize() !== 2) throw body.error("malformed bound");
  const value = readNumber(body);
  return { value, inclusive: body.bool() };
}

/** Lengths that no collection can have are no statements: below zero, and beyond what a number can count. */
function readLength(body: MsgpackReader): number {
  const number = body.number();
  if (number === undefined || !("integer" in number)) throw body.error("malformed length");
  const length = Number(number.integer);
  if (length < 0) return 0;
  return Number.isSafeInteger(length) ? length : Infinity;
}
