import { convert } from "../convert/convert.ts";
import { CtyError } from "../errors.ts";
import { conformsTo } from "../type/conformance.ts";
import type { Type } from "../type/type.ts";
import {
  Entries,
  isNumberPayload,
  Marked,
  type Payload,
  Sequence,
  SetElements,
  Unknown,
} from "../value/payload.ts";
import { Value } from "../value/value.ts";
import { AttributeTexts, DecodePath } from "./decode-path.ts";
import { partType } from "./json-encode.ts";
import { encodeTypeJson } from "./json-type.ts";
import { writeNumber } from "./msgpack-number.ts";
import { writeUnknown } from "./msgpack-unknown.ts";
import { MsgpackWriter, packedStrings } from "./msgpack-writer.ts";

/**
 * A value as msgpack, to be read back as a value of the type. The value is converted first where it does not conform.
 * Where the type says `dynamic`, the value goes into a pair with the JSON of its own type. Equal values of one type give
 * equal bytes. Source: the plugin protocol's msgpack encoding.
 *
 * Throws `CTY_CONVERSION`, `CTY_MARKED`, or `CTY_UNSERIALIZABLE` for capsules, with the path.
 *
 * @param type @default the type of the value
 */
export function encodeMsgpack(value: Value, type: Type = value.type): Uint8Array {
  const conforming = conformsTo(value.type, type) ? value : convert(value, type);
  const encoder = new MsgpackEncoder();
  return encoder.encode(conforming, type);
}

class MsgpackEncoder {
  readonly #writer = new MsgpackWriter();
  readonly #place = new DecodePath();
  readonly #types = new Map<Type, Uint8Array>();
  readonly #names = new AttributeTexts(packedStrings);

  encode(value: Value, wanted: Type): Uint8Array {
    this.#place.run(() => this.#payload(value.type, Value.payload(value), wanted));
    return this.#writer.finish();
  }

  #payload(type: Type, payload: Payload, wanted: Type): void {
    const writer = this.#writer;
    if (payload instanceof Marked) {
      throw new CtyError("CTY_MARKED", "marks cannot be written as msgpack");
    }
    if (wanted.kind === "dynamic" && type.kind !== "dynamic") {
      writer.arrayHeader(2);
      writer.binary(this.#typeJson(type));
      this.#payload(type, payload, type);
    } else if (payload instanceof Unknown) writeUnknown(writer, payload);
    else if (payload === null) writer.nil();
    else if (typeof payload === "string") writer.string(payload);
    else if (typeof payload === "boolean") writer.bool(payload);
    else if (isNumberPayload(payload)) writeNumber(writer, payload);
    else if (payload instanceof Entries) this.#map(type, payload, wanted);
    else if (payload instanceof Sequence || payload instanceof SetElements) {
      if (type.kind === "object") this.#object(type, payload, wanted);
      else this.#array(type, payload, wanted);
    } else throw new CtyError("CTY_UNSERIALIZABLE", "a capsule cannot be written as msgpack");
  }

  #typeJson(type: Type): Uint8Array {
    let json = this.#types.get(type);
    json ??= new TextEncoder().encode(encodeTypeJson(type));
    this.#types.set(type, json);
    return json;
  }

  #array(type: Type, { items }: Sequence | SetElements, wanted: Type): void {
    this.#writer.arrayHeader(items.length);
    this.#place.enter(type, 0);
    for (let i = 0; i < items.length; i += 1) {
      this.#place.next(i);
      this.#payload(partType(type, i), items[i] ?? null, partType(wanted, i));
    }
    this.#place.leave();
  }

  #map(type: Type, { map }: Entries, wanted: Type): void {
    this.#writer.mapHeader(map.size);
    this.#place.enter(type, "");
    for (const [key, item] of map) {
      this.#place.next(key);
      this.#writer.string(key);
      this.#payload(partType(type, 0), item, partType(wanted, 0));
    }
    this.#place.leave();
  }

  #object(
    type: Extract<Type, { kind: "object" }>,
    { items }: Sequence | SetElements,
    wanted: Type,
  ): void {
    const names = this.#names.get(type);
    this.#writer.mapHeader(type.names.length);
    this.#place.enter(type, "");
    for (let i = 0; i < items.length; i += 1) {
      const name = type.names[i] ?? "";
      this.#place.next(name);
      const packed = names?.[i];
      if (packed === undefined) this.#writer.string(name);
      else this.#writer.raw(packed);
      this.#payload(partType(type, i), items[i] ?? null, partType(wanted, i));
    }
    this.#place.leave();
  }
}
