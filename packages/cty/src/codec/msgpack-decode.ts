import { CtyError } from "../errors.ts";
import { normalizeString } from "../text/strings.ts";
import {
  MAX_TYPE_DEPTH,
  type ObjectType,
  type Type,
  withoutOptionalAttributes,
} from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { haveCommonType, sortedMap } from "../value/parts.ts";
import { listPayload, mapPayload, type Payload, structurePayload } from "../value/payload.ts";
import { setPayload } from "../value/set-elements.ts";
import { Value } from "../value/value.ts";
import { AttributeSlots, AttributeTexts, DecodePath } from "./decode-path.ts";
import { decodeTypeJson } from "./json-type.ts";
import { readNumber } from "./msgpack-number.ts";
import { type InvalidUtf8, MsgpackReader } from "./msgpack-reader.ts";
import { readUnknown } from "./msgpack-unknown.ts";
import { packedStrings } from "./msgpack-writer.ts";

/** Options of {@link decodeMsgpack}. */
export interface DecodeMsgpackOptions {
  /**
   * What to do with strings that are not UTF-8: refuse them, or put U+FFFD in place of what is malformed.
   * @default "error"
   */
  readonly invalidUtf8?: InvalidUtf8;
}

/**
 * Reads a value of the type from msgpack, in any of the forms that the format has for it. Objects must carry exactly
 * the attributes of their type. Any bytes are safe to give it: nothing is allocated for claimed lengths that the bytes
 * cannot hold, and nesting is bounded.
 *
 * Throws `CTY_MSGPACK` with the path of the part that does not fit, `CTY_REFINEMENT`, `CTY_TOO_DEEP`.
 */
export function decodeMsgpack(
  bytes: Uint8Array,
  type: Type,
  options: DecodeMsgpackOptions = {},
): Value {
  const decoder = new MsgpackDecoder(bytes, options.invalidUtf8 ?? "error");
  return decoder.decode(withoutOptionalAttributes(type));
}

class MsgpackDecoder {
  readonly #reader: MsgpackReader;
  readonly #place = new DecodePath();
  readonly #names = new AttributeTexts(packedStrings);
  #depth = 0;

  constructor(bytes: Uint8Array, invalidUtf8: InvalidUtf8) {
    this.#reader = new MsgpackReader(bytes, invalidUtf8);
  }

  decode(type: Type): Value {
    return this.#place.run(() => {
      const value = this.#value(type);
      this.#reader.end();
      return value;
    });
  }

  /** A value of the type; where that is open, of a type that conforms to it. */
  #value(type: Type): Value {
    // Open types can hide any nesting, so the depth of the value is counted before it is built.
    if (this.#depth + type.depth > MAX_TYPE_DEPTH) {
      throw new CtyError("CTY_TOO_DEEP", `values may be nested ${MAX_TYPE_DEPTH} levels deep`);
    }
    if (!type.hasDynamic) return new Value(type, this.#payload(type));
    this.#depth += 1;
    const value = this.#openValue(type);
    this.#depth -= 1;
    return value;
  }

  #openValue(type: Type): Value {
    const reader = this.#reader;
    const extension = reader.takeExtension();
    if (extension !== undefined) return readUnknown(reader, extension, type);
    if (reader.takeNil()) return Value.null(type);
    if (type.kind === "dynamic") return this.#dynamic();
    if (type.kind === "map") {
      const entries = this.#entries(type, (element) => this.#value(element));
      this.#expectCommonType([...entries.values()]);
      return Value.map(entries, entries.size === 0 ? type.element : undefined);
    }
    if (type.kind === "list" || type.kind === "set") {
      const values = this.#elements(type, (element) => this.#value(element));
      this.#expectCommonType(values);
      return Value[type.kind](values, values.length === 0 ? type.element : undefined);
    }
    if (type.kind === "tuple") {
      return Value.tuple(this.#tuple(type, (element) => this.#value(element)));
    }
    if (type.kind !== "object") throw reader.error("unexpected type");
    const values = this.#attributes(type, (attribute) => this.#value(attribute));
    return Value.object(type.names.map((name, i) => [name, values[i] ?? Value.dynamic] as const));
  }

  #expectCommonType(values: readonly Value[]): void {
    if (!haveCommonType(values)) throw this.#reader.error("the elements are not of one type");
  }

  /** A value of a type without open parts. */
  #payload(type: Type): Payload {
    const reader = this.#reader;
    const extension = reader.takeExtension();
    if (extension !== undefined) return Value.payload(readUnknown(reader, extension, type));
    if (reader.takeNil()) return null;
    switch (type.kind) {
      case "string":
        return normalizeString(reader.string());
      case "number":
        return readNumber(reader);
      case "bool":
        return reader.bool();
      case "list": {
        const items = this.#elements(type, (element) => this.#payload(element));
        return listPayload(type.element, items);
      }
      case "set": {
        const items = this.#elements(type, (element) => this.#payload(element));
        return setPayload(type.element, items);
      }
      case "map": {
        const entries = this.#entries(type, (element) => this.#payload(element));
        return mapPayload(type.element, sortedMap(entries));
      }
      case "tuple":
        return structurePayload(
          type.elements,
          this.#tuple(type, (element) => this.#payload(element)),
        );
      case "object":
        return structurePayload(
          type.types,
          this.#attributes(type, (attribute) => this.#payload(attribute)),
        );
      case "dynamic":
      case "capsule":
        throw reader.error("values of this type cannot be read from msgpack");
      default:
        return unreachable(type);
    }
  }

  #elements<T>(type: Extract<Type, { kind: "list" | "set" }>, read: (element: Type) => T): T[] {
    const size = this.#reader.arraySize();
    const items: T[] = [];
    this.#place.enter(type, 0);
    for (let i = 0; i < size; i += 1) {
      this.#place.next(i);
      items.push(read(type.element));
    }
    this.#place.leave();
    // The copy is as large as it has to be; arrays that grew are larger.
    return items.slice();
  }

  #entries<T>(type: Extract<Type, { kind: "map" }>, read: (element: Type) => T): Map<string, T> {
    const size = this.#reader.mapSize();
    const entries = new Map<string, T>();
    this.#place.enter(type, "");
    for (let i = 0; i < size; i += 1) {
      const key = this.#reader.string();
      this.#place.next(key);
      entries.set(key, read(type.element));
    }
    this.#place.leave();
    return entries;
  }

  #tuple<T>(type: Extract<Type, { kind: "tuple" }>, read: (element: Type) => T): T[] {
    const size = this.#reader.arraySize();
    if (size !== type.elements.length) {
      throw this.#reader.error(`expected ${type.elements.length} elements, got ${size}`);
    }
    this.#place.enter(type, 0);
    const items = type.elements.map((element, i) => {
      this.#place.next(i);
      return read(element);
    });
    this.#place.leave();
    return items;
  }

  #attributes<T>(type: ObjectType, read: (type: Type) => T): T[] {
    const reader = this.#reader;
    const size = reader.mapSize();
    if (size !== type.names.length) {
      throw reader.error(`expected ${type.names.length} attributes, got ${size}`);
    }
    const slots = new AttributeSlots<T>(type);
    const names = this.#names.get(type);
    this.#place.enter(type, "");
    for (let i = 0; i < size; i += 1) {
      const next = slots.next;
      const packed = next === undefined ? undefined : names?.[next];
      const expected = packed !== undefined && reader.takeBytes(packed);
      const name = expected ? "" : reader.string();
      this.#place.next(expected ? (type.names[next ?? 0] ?? "") : name);
      const position = expected ? next : slots.position(name);
      const attribute = position === undefined ? undefined : type.types[position];
      if (position === undefined || attribute === undefined) {
        throw reader.error("unexpected attribute");
      }
      if (!slots.set(position, read(attribute))) throw reader.error("the attribute is there twice");
    }
    this.#place.leave();
    return slots.finish(() => {
      throw reader.error("an attribute is missing");
    });
  }

  /** A pair of the JSON of a type and a value of it. */
  #dynamic(): Value {
    const reader = this.#reader;
    if (reader.arraySize() !== 2) throw reader.error("expected a type and a value");
    const type = withoutOptionalAttributes(decodeTypeJson(reader.binary()));
    return this.#value(type);
  }
}
