import { CtyError } from "../errors.ts";
import { BigFloat } from "../number/big-float.ts";
import { normalizeString } from "../text/strings.ts";
import {
  type ListType,
  MAX_TYPE_DEPTH,
  type MapType,
  type ObjectType,
  type SetType,
  type TupleType,
  type Type,
  withoutOptionalAttributes,
} from "../type/type.ts";
import { unreachable } from "../unreachable.ts";
import { haveCommonType, sortedMap } from "../value/parts.ts";
import { listPayload, mapPayload, type Payload, structurePayload } from "../value/payload.ts";
import { setPayload } from "../value/set-elements.ts";
import { Value } from "../value/value.ts";
import { AttributeSlots, AttributeTexts, DecodePath } from "./decode-path.ts";
import { JsonReader, jsonText, memberHeads } from "./json-text.ts";
import { readType } from "./json-type.ts";

/**
 * Reads a value of the type from JSON. Numbers keep all their digits. Where the type says `dynamic`, the text must be
 * `{"value":...,"type":...}` or null. A string may stand for a number or bool and the other way round; attributes that
 * are absent become null; of members of equal names the last one counts. Source: the plugin protocol's JSON encoding and
 * the state file format, version 4.
 *
 * Throws `CTY_JSON` with the path of the part that does not fit, also for anything behind the value, and `CTY_TOO_DEEP`.
 */
export function decodeJson(source: string | Uint8Array, type: Type): Value {
  const decoder = new JsonDecoder(jsonText(source));
  return decoder.decode(withoutOptionalAttributes(type));
}

class JsonDecoder {
  readonly #reader: JsonReader;
  readonly #place = new DecodePath();
  readonly #heads = new AttributeTexts(memberHeads);
  #depth = 0;

  constructor(text: string) {
    this.#reader = new JsonReader(text);
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
    if (this.#reader.takeNull()) return Value.null(type);
    if (type.kind === "dynamic") return this.#dynamic();
    if (type.kind === "tuple") {
      return Value.tuple(this.#tuple(type, (element) => this.#value(element)));
    }
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
    return this.#openObject(type);
  }

  #openObject(type: Type): Value {
    if (type.kind !== "object") throw this.#reader.error("unexpected type");
    const values = this.#attributes(
      type,
      (attribute) => this.#value(attribute),
      (attribute) => Value.null(attribute),
    );
    return Value.object(type.names.map((name, i) => [name, values[i] ?? Value.dynamic] as const));
  }

  #expectCommonType(values: readonly Value[]): void {
    if (!haveCommonType(values)) throw this.#reader.error("the elements are not of one type");
  }

  /** A value of a type without open parts. */
  #payload(type: Type): Payload {
    const reader = this.#reader;
    if (reader.takeNull()) return null;
    switch (type.kind) {
      case "string":
        return this.#string();
      case "number":
        return this.#number();
      case "bool":
        return this.#bool();
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
      case "object": {
        const items = this.#attributes(
          type,
          (attribute) => this.#payload(attribute),
          () => null,
        );
        return structurePayload(type.types, items);
      }
      case "dynamic":
      case "capsule":
        throw reader.error("values of this type cannot be read from JSON");
      default:
        return unreachable(type);
    }
  }

  #string(): string {
    const scalar = this.#scalar("a string");
    if (typeof scalar === "string") return normalizeString(scalar);
    return typeof scalar === "boolean" ? String(scalar) : scalar.literal;
  }

  #number(): Payload {
    const scalar = this.#scalar("a number");
    if (typeof scalar === "boolean") throw this.#reader.error("expected a number");
    const number = BigFloat.parse(typeof scalar === "string" ? scalar : scalar.literal);
    if (number === undefined) throw this.#reader.error("expected a number");
    return number;
  }

  #bool(): boolean {
    const scalar = this.#scalar("a bool");
    if (typeof scalar === "boolean") return scalar;
    if (scalar === "true" || scalar === "1") return true;
    if (scalar === "false" || scalar === "0") return false;
    throw this.#reader.error("expected a bool");
  }

  #scalar(what: string): ReturnType<JsonReader["scalar"]> {
    const next = this.#reader.peek();
    if (next === "{" || next === "[") throw this.#reader.error(`expected ${what}`);
    return this.#reader.scalar();
  }

  #elements<T>(type: ListType | SetType, read: (element: Type) => T): T[] {
    const items: T[] = [];
    this.#place.enter(type, 0);
    this.#reader.array((position) => {
      this.#place.next(position);
      items.push(read(type.element));
    });
    this.#place.leave();
    // The copy is as large as it has to be; arrays that grew are larger.
    return items.slice();
  }

  #entries<T>(type: MapType, read: (element: Type) => T): Map<string, T> {
    const entries = new Map<string, T>();
    this.#place.enter(type, "");
    this.#reader.object((key) => {
      this.#place.next(key);
      entries.set(key, read(type.element));
    });
    this.#place.leave();
    return entries;
  }

  #tuple<T>(type: TupleType, read: (element: Type) => T): T[] {
    const items: T[] = [];
    this.#place.enter(type, 0);
    this.#reader.array((position) => {
      this.#place.next(position);
      const element = type.elements[position];
      if (element === undefined) throw this.#wrongLength(type);
      items.push(read(element));
    });
    this.#place.leave();
    if (items.length !== type.elements.length) throw this.#wrongLength(type);
    return items;
  }

  #wrongLength(type: TupleType): CtyError {
    return this.#reader.error(`expected ${type.elements.length} elements`);
  }

  #attributes<T>(type: ObjectType, read: (type: Type) => T, missing: (type: Type) => T): T[] {
    const reader = this.#reader;
    const slots = new AttributeSlots<T>(type);
    const heads = this.#heads.get(type);
    this.#place.enter(type, "");
    reader.members(() => {
      const next = slots.next;
      const head = next === undefined ? undefined : heads?.[next];
      const expected = head !== undefined && reader.takeText(head);
      const name = expected ? "" : reader.memberName();
      this.#place.next(expected ? (type.names[next ?? 0] ?? "") : name);
      const position = expected ? next : slots.position(name);
      const attribute = position === undefined ? undefined : type.types[position];
      if (position === undefined || attribute === undefined) {
        throw reader.error("unexpected attribute");
      }
      slots.set(position, read(attribute));
    });
    this.#place.leave();
    return slots.finish(missing);
  }

  /** A value with its type beside it, in any order; a value that comes first is read once the type is known. */
  #dynamic(): Value {
    const reader = this.#reader;
    let type: Type | undefined;
    let start: number | undefined;
    reader.object((name) => {
      if (name === "type") type = readType(reader, 0);
      else if (name === "value") {
        reader.peek();
        start = reader.position;
        reader.skip();
      } else throw reader.error("unexpected member of a value with its type");
    });
    if (type === undefined || start === undefined)
      throw reader.error("expected a value and its type");
    const end = reader.position;
    reader.seek(start);
    const value = this.#value(withoutOptionalAttributes(type));
    reader.seek(end);
    return value;
  }
}
