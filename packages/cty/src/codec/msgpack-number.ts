import { BigFloat } from "../number/big-float.ts";
import {
  bigIntToPayload,
  doubleToPayload,
  type NumberPayload,
  numberText,
  parseNumberPayload,
} from "../number/number-payload.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import type { MsgpackWriter } from "./msgpack-writer.ts";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/**
 * Writes a number in the shortest form that keeps it exactly: integers of 64 bits as integers, other numbers that are
 * doubles as doubles, all others as decimal text.
 */
export function writeNumber(writer: MsgpackWriter, number: NumberPayload): void {
  if (typeof number === "number") {
    if (Number.isInteger(number)) writer.integer(number);
    else writer.double(number);
    return;
  }
  if (number.isInfinite) {
    writer.double(number.negative ? -Infinity : Infinity);
    return;
  }
  // Beyond 64 bits there is no need to write the integer out.
  if (number.isInteger && number.minPrecision + number.magnitude.exponent <= 64) {
    const integer = number.truncate();
    if (integer >= MIN_INT64 && integer <= MAX_INT64) {
      const small = Number(integer);
      if (Number.isSafeInteger(small)) writer.integer(small);
      else writer.bigInteger(integer);
      return;
    }
  }
  const double = number.isInteger ? undefined : number.toExactNumber();
  if (double !== undefined) writer.double(double);
  else writer.string(numberText(number));
}

/** Reads a number in any of its forms. Throws `CTY_MSGPACK` where there is none. */
export function readNumber(reader: MsgpackReader): NumberPayload {
  const item = reader.number();
  if (item === undefined) {
    const parsed = parseNumberPayload(reader.string());
    if (parsed === undefined) throw reader.error("expected a number");
    return parsed;
  }
  if ("integer" in item) {
    return typeof item.integer === "number" ? item.integer : bigIntToPayload(item.integer);
  }
  if (Number.isNaN(item.double)) throw reader.error("NaN is not a number");
  return item.double === Infinity || item.double === -Infinity
    ? BigFloat.fromNumber(item.double)
    : doubleToPayload(item.double);
}
