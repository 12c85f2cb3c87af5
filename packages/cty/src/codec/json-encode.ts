import { convert } from "../convert/convert.ts";
import { CtyError } from "../errors.ts";
import { numberText } from "../number/number-payload.ts";
import { conformsTo } from "../type/conformance.ts";
import type { Type } from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
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
import { jsonString } from "./json-text.ts";
import { encodeTypeJson } from "./json-type.ts";
import { Place } from "./place.ts";

/**
 * A value as JSON, to be read back as a value of the type. The value is converted first where it does not conform. Where
 * the type says `dynamic`, the value's own type is written beside it. There is no white space, keys are in code-point
 * order, numbers have all their digits and no exponent. Source: the plugin protocol's JSON encoding.
 *
 * Throws `CTY_CONVERSION`, `CTY_MARKED`, or `CTY_UNSERIALIZABLE` for unknowns, infinities and capsules, with the path.
 *
 * @param type @default the type of the value
 */
export function encodeJson(value: Value, type: Type = value.type): string {
  const conforming = conformsTo(value.type, type) ? value : convert(value, type);
  const encoder = new JsonEncoder();
  return encoder.encode(conforming, type);
}

class JsonEncoder {
  readonly #place = new Place();

  encode(value: Value, wanted: Type): string {
    return this.#place.run(() => this.#payload(value.type, Value.payload(value), wanted));
  }

  #payload(type: Type, payload: Payload, wanted: Type): string {
    if (payload instanceof Marked) {
      throw new CtyError("CTY_MARKED", "marks cannot be written as JSON");
    }
    if (payload instanceof Unknown) {
      throw new CtyError("CTY_UNSERIALIZABLE", "an unknown value cannot be written as JSON");
    }
    if (wanted.kind === "dynamic" && type.kind !== "dynamic") {
      return `{"value":${this.#payload(type, payload, type)},"type":${encodeTypeJson(type)}}`;
    }
    if (payload === null) return "null";
    if (typeof payload === "string") return jsonString(payload);
    if (typeof payload === "boolean") return String(payload);
    if (isNumberPayload(payload)) {
      if (typeof payload !== "number" && payload.isInfinite) {
        throw new CtyError("CTY_UNSERIALIZABLE", "infinity cannot be written as JSON");
      }
      return numberText(payload);
    }
    if (payload instanceof Entries) return this.#map(type, payload, wanted);
    if (payload instanceof Sequence || payload instanceof SetElements) {
      return type.kind === "object"
        ? this.#object(type, payload, wanted)
        : this.#array(type, payload, wanted);
    }
    throw new CtyError("CTY_UNSERIALIZABLE", "a capsule cannot be written as JSON");
  }

  #array(type: Type, { items }: Sequence | SetElements, wanted: Type): string {
    let text = "[";
    this.#place.enter(type, 0);
    for (const [i, item] of items.entries()) {
      this.#place.next(i);
      if (i > 0) text += ",";
      text += this.#payload(partType(type, i), item, partType(wanted, i));
    }
    this.#place.leave();
    return `${text}]`;
  }

  #map(type: Type, { map }: Entries, wanted: Type): string {
    let text = "";
    this.#place.enter(type, "");
    for (const [key, item] of map) {
      this.#place.next(key);
      if (text !== "") text += ",";
      text += `${jsonString(key)}:${this.#payload(partType(type, 0), item, partType(wanted, 0))}`;
    }
    this.#place.leave();
    return `{${text}}`;
  }

  #object(
    type: Extract<Type, { kind: "object" }>,
    { items }: Sequence | SetElements,
    wanted: Type,
  ): string {
    let text = "{";
    this.#place.enter(type, "");
    for (const [i, name] of type.names.entries()) {
      this.#place.next(name);
      if (i > 0) text += ",";
      text += `${jsonString(name)}:${this.#payload(partType(type, i), items[i] ?? null, partType(wanted, i))}`;
    }
    this.#place.leave();
    return `${text}}`;
  }
}

/** The type of one part of a compound type; the type itself where it has no parts. */
export function partType(type: Type, position: number): Type {
  switch (type.kind) {
    case "list":
    case "set":
    case "map":
      return type.element;
    case "tuple":
      return type.elements[position] ?? type;
    case "object":
      return type.types[position] ?? type;
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
      return type;
    default:
      return unreachable(type);
  }
}
