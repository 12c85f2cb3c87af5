import type { EncodedStruct, EncodedValue } from "../encoded-struct.ts";
import { nullProperty, unknownProperty } from "./construct.ts";
import type { PropertyErrorCode } from "./errors.ts";
import { PropertyError } from "./errors.ts";
import { plainReference } from "./interpret.ts";
import type { EncodeOptions, ResolvedEncodeOptions } from "./options.ts";
import { resolveEncodeOptions } from "./options.ts";
import type { PropertyPath } from "./path.ts";
import { ReverseWriter } from "./reverse-writer.ts";
import { isInternalKey, UNKNOWN_SENTINEL } from "./signature.ts";
import { signatureMembers } from "./signature-members.ts";
import type { OutputProperty, PropertyMap, PropertyValue } from "./value.ts";
import { TAG } from "./wire.ts";

/**
 * Writes properties as a `google.protobuf.Struct`. Members keep their order unless `sortKeys`.
 *
 * As in Pulumi, a plain map with the signature key and a plain string that equals an unknown
 * sentinel are written as they are, so that a reader takes them for what they look like.
 *
 * Depth is limited by memory alone, and time and memory are linear in the size of the value.
 * Throws a {@link PropertyError}.
 */
export function encodeStruct(properties: PropertyMap, options?: EncodeOptions): EncodedStruct {
  return new Encoder(resolveEncodeOptions(options)).struct(properties) as EncodedStruct;
}

/** Writes a value as a `google.protobuf.Value`; see {@link encodeStruct}. */
export function encodeValue(value: PropertyValue, options?: EncodeOptions): EncodedValue {
  return new Encoder(resolveEncodeOptions(options)).value(value) as EncodedValue;
}

/** What kind of container is being written, which decides what may be left out of it. */
type Role = "top" | "map" | "list" | "wrapper" | "archive" | "object";

/** A Struct or ListValue that is being written, from its last member to its first. */
class Frame {
  role: Role = "map";
  /** Size of the message when this container was begun. */
  begin = 0;
  /** How many pending members belong to the containers around this one. */
  base = 0;
  /** The key under which the container around this one holds it; undefined in a list. */
  key: string | undefined;
  /** The key of the member being written. */
  current: string | undefined;
}

/**
 * Writes depth first, without recursion. The members of every container that is begun are put on
 * the `#pending` stacks; taking them off again gives the reverse order that the writer wants. The
 * first `#depth` of `#frames` are the containers around the current place.
 */
class Encoder {
  readonly #options: ResolvedEncodeOptions;
  readonly #writer = new ReverseWriter(() => this.#fail("PROPERTY_TOO_LARGE", ""));
  readonly #pendingKeys: (string | undefined)[] = [];
  readonly #pendingValues: PropertyValue[] = [];
  readonly #frames: Frame[] = [];
  #depth = 0;
  /** Wrappers that are known not to wrap an unknown value; made when there are any. */
  #known: WeakSet<PropertyValue> | undefined;

  constructor(options: ResolvedEncodeOptions) {
    this.#options = options;
  }

  struct(properties: PropertyMap): Uint8Array {
    this.#begin("top", undefined);
    this.#pushMap(properties);
    this.#run();
    return this.#writer.finish();
  }

  value(value: PropertyValue): Uint8Array {
    const written = this.#resolve(value) ?? nullProperty();
    if (!this.#writeScalar(written)) {
      // The container is the whole message: its tag and length are written, and nothing around it.
      this.#beginContainer(written, undefined);
      this.#run();
      this.#endContainer(this.#frames[0] as Frame);
    }
    return this.#writer.finish();
  }

  #run(): void {
    while (this.#depth > 0) {
      const frame = this.#frames[this.#depth - 1] as Frame;
      if (this.#pendingValues.length === frame.base) {
        this.#depth -= 1;
        if (this.#depth > 0) {
          this.#endContainer(frame);
          this.#endMember(frame.begin, frame.key);
        }
        continue;
      }
      const key = this.#pendingKeys.pop();
      const pending = this.#pendingValues.pop() as PropertyValue;
      frame.current = key;
      const value = this.#resolve(pending);
      if (value === undefined || this.#isLeftOut(frame.role, key, value)) continue;
      const begin = this.#writer.size;
      if (this.#writeScalar(value)) this.#endMember(begin, key);
      else this.#beginContainer(value, key);
    }
  }

  /** Writes a value that is no container; false for one that is. */
  #writeScalar(value: PropertyValue): boolean {
    const writer = this.#writer;
    switch (value.kind) {
      case "string":
        this.#text(value.value);
        writer.byte(TAG.string);
        return true;
      case "number":
        writer.double(value.value);
        writer.byte(TAG.number);
        return true;
      case "bool":
        writer.byte(value.value ? 1 : 0);
        writer.byte(TAG.bool);
        return true;
      case "null":
        writer.byte(0);
        writer.byte(TAG.null);
        return true;
      case "unknown":
        this.#text(UNKNOWN_SENTINEL[value.type]);
        writer.byte(TAG.string);
        return true;
      case "list":
      case "map":
      case "secret":
      case "output":
      case "asset":
      case "archive":
      case "resource":
      case "bytes":
        return false;
      default:
        return value satisfies never;
    }
  }

  #text(text: string): void {
    if (!this.#writer.text(text)) this.#fail("PROPERTY_TEXT_INVALID", "a lone surrogate");
  }

  #beginContainer(value: PropertyValue, key: string | undefined): void {
    switch (value.kind) {
      case "list":
        this.#begin("list", key);
        for (const element of value.values) this.#push(undefined, element);
        return;
      case "map": {
        const around = this.#frames[this.#depth - 1];
        const isContents = around?.role === "archive" && key === "assets";
        this.#begin(isContents ? "object" : "map", key);
        this.#pushMap(value.entries);
        return;
      }
      case "secret":
      case "output":
      case "asset":
      case "archive":
      case "resource":
      case "bytes": {
        const isWrapper = value.kind === "secret" || value.kind === "output";
        this.#begin(isWrapper ? "wrapper" : value.kind === "archive" ? "archive" : "object", key);
        for (const [name, member] of signatureMembers(value, this.#options)) {
          this.#push(name, member);
        }
        return;
      }
      case "null":
      case "bool":
      case "number":
      case "string":
      case "unknown":
        throw new TypeError(`${value.kind} is not a container`);
      default:
        value satisfies never;
    }
  }

  #begin(role: Role, key: string | undefined): void {
    const frame = (this.#frames[this.#depth] ??= new Frame());
    this.#depth += 1;
    frame.role = role;
    frame.begin = this.#writer.size;
    frame.base = this.#pendingValues.length;
    frame.key = key;
  }

  #push(key: string | undefined, value: PropertyValue): void {
    this.#pendingKeys.push(key);
    this.#pendingValues.push(value);
  }

  readonly #pushEntry = (value: PropertyValue, key: string): void => this.#push(key, value);

  #pushMap(entries: PropertyMap): void {
    if (this.#options.sortKeys) {
      for (const key of [...entries.keys()].sort()) {
        this.#push(key, entries.get(key) as PropertyValue);
      }
    } else {
      // Not for-of: that makes an array of every entry, which is a fifth of the time.
      entries.forEach(this.#pushEntry);
    }
  }

  /** Writes what is before the members of a container: their length, and what they are. */
  #endContainer(frame: Frame): void {
    this.#writer.varint(this.#writer.size - frame.begin);
    this.#writer.byte(frame.role === "list" ? TAG.list : TAG.struct);
  }

  /** Writes what is before a Value that was begun at the given size: its length, key and tag. */
  #endMember(begin: number, key: string | undefined): void {
    const writer = this.#writer;
    writer.varint(writer.size - begin);
    if (key !== undefined) {
      writer.byte(TAG.entryValue);
      if (!writer.text(key)) this.#fail("PROPERTY_TEXT_INVALID", "a lone surrogate in a key");
      writer.byte(TAG.entryKey);
      writer.varint(writer.size - begin);
    }
    writer.byte(TAG.member);
  }

  /** The value to write for a value; undefined when the options leave it out. */
  #resolve(value: PropertyValue): PropertyValue | undefined {
    const { unknowns, secrets, outputs, resources, assets, bytes } = this.#options;
    let current = value;
    for (;;) {
      switch (current.kind) {
        case "unknown":
          return unknowns === "keep" ? current : this.#refuseUnknown();
        case "secret":
          if (secrets === "strip") {
            current = current.value;
            continue;
          }
          return unknowns === "keep" || this.#isKnown(current) ? current : this.#refuseUnknown();
        case "output":
          if (outputs === "strip") {
            current = plainOutput(current);
            continue;
          }
          return unknowns === "keep" || this.#isKnown(current) ? current : this.#refuseUnknown();
        case "resource":
          if (resources === "keep") return current;
          current = plainReference(current.urn, current.id);
          continue;
        case "asset":
        case "archive":
          return assets === "reject" ? this.#fail("PROPERTY_ASSET_REJECTED", "") : current;
        case "bytes":
          return bytes === "reject" ? this.#fail("PROPERTY_BYTES_REJECTED", "") : current;
        case "null":
        case "bool":
        case "number":
        case "string":
        case "list":
        case "map":
          return current;
        default:
          return current satisfies never;
      }
    }
  }

  #refuseUnknown(): undefined {
    if (this.#options.unknowns === "reject") this.#fail("PROPERTY_UNKNOWN_REJECTED", "");
    return undefined;
  }

  /** Whether something is in a wrapper in the end. Every wrapper of a chain is visited once. */
  #isKnown(wrapper: PropertyValue): boolean {
    const known = (this.#known ??= new WeakSet());
    const chain: PropertyValue[] = [];
    let current: PropertyValue | undefined = wrapper;
    while (current?.kind === "secret" || current?.kind === "output") {
      if (known.has(current)) break;
      chain.push(current);
      current = current.value;
    }
    if (current?.kind === "resource" && this.#options.resources === "strip") {
      current = plainReference(current.urn, current.id);
    }
    if (current === undefined || current.kind === "unknown") return false;
    for (const link of chain) known.add(link);
    return true;
  }

  #isLeftOut(role: Role, key: string | undefined, value: PropertyValue): boolean {
    if (role !== "map" && role !== "top") return false;
    const { skipNulls, skipInternalKeys } = this.#options;
    if (skipNulls && value.kind === "null") return true;
    if (skipInternalKeys === "none" || key === undefined || !isInternalKey(key)) return false;
    return skipInternalKeys === "all" || role === "top";
  }

  /** Fails at the member being written. */
  #fail(code: PropertyErrorCode, detail: string): never {
    const path = this.#frames.slice(0, this.#depth).flatMap((frame, index): PropertyPath => {
      const members = this.#frames[index + 1];
      if (frame.role === "list") {
        const end = index + 1 < this.#depth ? members?.base : undefined;
        return [(end ?? this.#pendingValues.length) - frame.base];
      }
      if (frame.current === undefined) return [];
      return frame.role === "wrapper" && frame.current === "value" ? [] : [frame.current];
    });
    throw new PropertyError(code, path, detail);
  }
}

/** What an output value becomes for a peer that does not take them. */
function plainOutput(output: OutputProperty): PropertyValue {
  const value = output.value ?? unknownProperty("string");
  return output.secret === true ? { kind: "secret", value } : value;
}
