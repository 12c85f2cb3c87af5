import { decodeJson, decodeMsgpack, encodeMsgpack, type Type, Value } from "@stackwright/cty";
import type { DynamicValue } from "@stackwright/proto/tfplugin6";

const NO_BYTES = new Uint8Array();

/** A value as it is sent: always msgpack, which has unknowns. Throws `CtyError`. */
export function valueToWire(value: Value, type: Type): DynamicValue {
  return { msgpack: encodeMsgpack(value, type), json: NO_BYTES };
}

/**
 * A value as it was received, in either encoding; null of the type where there is none. Throws `CtyError` for bytes that
 * are no value of the type, among them strings that are not UTF-8.
 */
export function valueFromWire(value: DynamicValue | undefined, type: Type): Value {
  if (value === undefined) return Value.null(type);
  if (value.msgpack.length > 0) return decodeMsgpack(value.msgpack, type);
  if (value.json.length > 0) return decodeJson(value.json, type);
  return Value.null(type);
}

/** Bytes that outlive the message they came in. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}
