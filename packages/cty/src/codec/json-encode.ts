import { convert } from "../convert/convert.ts";
import { CtyError } from "../errors.ts";
import { type NumberPayload, numberText } from "../number/number-payload.ts";
import { conformsTo } from "../type/conformance.ts";
import type { ObjectType, Type } from "../type/type.ts";
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
import { AttributeTexts, DecodePath } from "./decode-path.ts";
import { jsonString, memberHeads } from "./json-text.ts";
import { encodeTypeJson } from "./json-type.ts";

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

/** Pieces that are collected before they are joined to one string. */
const PIECES = 4096;

class JsonEncoder {
  readonly #place = new DecodePath();
  readonly #heads = new AttributeTexts(memberHeads);
  readonly #chunks: string[] = [];
  #pieces: string[] = [];

  encode(value: Value, wanted: Type): string {
    this.#place.run(() => this.#payload(value.type, Value.payload(value), wanted));
    return this.#chunks.join("") + this.#pieces.join("");
  }

  /** Appends. Joining now and then keeps garbage short-lived; one long concatenation would cost several times more. */
  #write(text: string): void {
    this.#pieces.push(text);
    if (this.#pieces.length < PIECES) return;
    this.#chunks.push(this.#pieces.join(""));
    this.#pieces = [];
  }

  #payload(type: Type, payload: Payload, wanted: Type): void {
    if (payload instanceof Marked) {
      throw new CtyError("CTY_MARKED", "marks cannot be written as JSON");
    }
    if (payload instanceof Unknown) {
      throw new CtyError("CTY_UNSERIALIZABLE", "an unknown value cannot be written as JSON");
    }
    if (wanted.kind === "dynamic" && type.kind !== "dynamic") {
      this.#write('{"value":');
      this.#payload(type, payload, type);
      this.#write(`,"type":${encodeTypeJson(type)}}`);
    } else if (payload === null) this.#write("null");
    else if (typeof payload === "string") this.#write(jsonString(payload));
    else if (typeof payload === "boolean") this.#write(String(payload));
    else if (isNumberPayload(payload)) this.#write(jsonNumber(payload));
    else if (payload instanceof Entries) this.#map(type, payload, wanted);
    else if (payload instanceof Sequence || payload instanceof SetElements) {
      if (type.kind === "object") this.#object(type, payload, wanted);
      else this.#array(type, payload, wanted);
    } else throw new CtyError("CTY_UNSERIALIZABLE", "a capsule cannot be written as JSON");
  }

  #array(type: Type, { items }: Sequence | SetElements, wanted: Type): void {
    this.#write("[");
    this.#place.enter(type, 0);
    for (let i = 0; i < items.length; i += 1) {
      this.#place.next(i);
      if (i > 0) this.#write(",");
      this.#payload(partType(type, i), items[i] ?? null, partType(wanted, i));
    }
    this.#place.leave();
    this.#write("]");
  }

  #map(type: Type, { map }: Entries, wanted: Type): void {
    let separator = "{";
    this.#place.enter(type, "");
    for (const [key, item] of map) {
      this.#place.next(key);
      this.#write(`${separator}${jsonString(key)}:`);
      this.#payload(partType(type, 0), item, partType(wanted, 0));
      separator = ",";
    }
    this.#place.leave();
    this.#write(map.size === 0 ? "{}" : "}");
  }

  #object(type: ObjectType, { items }: Sequence | SetElements, wanted: Type): void {
    const heads = this.#heads.get(type);
    this.#write("{");
    this.#place.enter(type, "");
    for (let i = 0; i < items.length; i += 1) {
      const name = type.names[i] ?? "";
      this.#place.next(name);
      if (i > 0) this.#write(",");
      this.#write(heads?.[i] ?? `${jsonString(name)}:`);
      this.#payload(partType(type, i), items[i] ?? null, partType(wanted, i));
    }
    this.#place.leave();
    this.#write("}");
  }
}

function jsonNumber(number: NumberPayload): string {
  if (typeof number !== "number" && number.isInfinite) {
    throw new CtyError("CTY_UNSERIALIZABLE", "infinity cannot be written as JSON");
  }
  return numberText(number);
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
