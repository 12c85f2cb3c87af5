import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";
import { hasPresence } from "./facts.ts";

/** A message as its set fields. 64-bit integers are bigint, enums are numbers. */
export interface RandomMessage {
  readonly desc: DescMessage;
  readonly fields: ReadonlyMap<DescField, RandomValue>;
}

export type RandomScalar = string | number | bigint | boolean | Uint8Array;

export type RandomValue =
  | RandomScalar
  | RandomMessage
  | readonly RandomValue[]
  | ReadonlyMap<RandomScalar, RandomValue>;

interface RandomMessageOptions {
  /** For implementations that read 64-bit integers into doubles. */
  readonly safeIntegers?: boolean;
  /** For implementations that keep maps in plain objects: no keys such as `__proto__`. */
  readonly plainKeys?: boolean;
  /** Full names of fields that stay absent, such as `google.protobuf.Any.value`. */
  readonly leaveOut?: readonly string[];
}

/** How deep messages nest; below it message fields are absent. */
const DEPTH = 3;

const TEXT = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "grapheme", minLength: 30, maxLength: 90 }),
);

/** Any zero but -0: what implementations do with -0 in fields without presence differs. */
const DOUBLE = fc.double().map((value) => (value === 0 ? 0 : value));

function scalarArbitrary(
  scalar: ScalarType | undefined,
  { safeIntegers = false }: RandomMessageOptions,
): fc.Arbitrary<RandomScalar> {
  const max = safeIntegers ? BigInt(Number.MAX_SAFE_INTEGER) : 2n ** 63n - 1n;
  const arbitraries = new Map<ScalarType | undefined, fc.Arbitrary<RandomScalar>>([
    [ScalarType.STRING, TEXT],
    [ScalarType.BYTES, fc.uint8Array({ maxLength: 40 })],
    [ScalarType.BOOL, fc.boolean()],
    [ScalarType.DOUBLE, DOUBLE],
    [ScalarType.INT32, fc.integer()],
    [ScalarType.UINT32, fc.nat(2 ** 32 - 1)],
    [ScalarType.INT64, fc.bigInt({ min: -max, max })],
    [ScalarType.UINT64, fc.bigInt({ min: 0n, max: safeIntegers ? max : 2n ** 64n - 1n })],
  ]);
  const found = arbitraries.get(scalar);
  if (found === undefined) throw new Error("no interface of ours uses this scalar type");
  return found;
}

/** Random messages of a type: every field with random content, or absent. */
export class RandomMessages {
  readonly #known = new Map<string, fc.Arbitrary<RandomMessage>>();
  readonly #options: RandomMessageOptions;

  constructor(options: RandomMessageOptions = {}) {
    this.#options = options;
  }

  of(desc: DescMessage, depth: number = DEPTH): fc.Arbitrary<RandomMessage> {
    const key = `${desc.typeName}/${depth}`;
    const arbitrary = this.#known.get(key) ?? this.#message(desc, depth);
    this.#known.set(key, arbitrary);
    return arbitrary;
  }

  #message(desc: DescMessage, depth: number): fc.Arbitrary<RandomMessage> {
    const members = desc.members.map((member) => {
      const choices = (member.kind === "oneof" ? member.fields : [member]).flatMap((field) => {
        const value = this.#value(field, depth);
        return value === undefined ? [] : [value.map((chosen) => [[field, chosen]] as const)];
      });
      return fc.oneof(fc.constant([]), ...choices, ...choices);
    });
    return fc
      .tuple(...members)
      .map((entries): RandomMessage => ({ desc, fields: new Map(entries.flat()) }));
  }

  #value(field: DescField, depth: number): fc.Arbitrary<RandomValue> | undefined {
    const name = `${field.parent.typeName}.${field.name}`;
    const item = this.#options.leaveOut?.includes(name) ? undefined : this.#item(field, depth);
    if (item === undefined) return undefined;
    if (field.fieldKind === "list") return fc.array(item, { maxLength: 3 });
    if (field.fieldKind !== "map") return item;
    const key = this.#options.plainKeys
      ? TEXT.filter((text) => !(text in {}))
      : fc.oneof(TEXT, fc.constantFrom("__proto__", "constructor", "10", "9", ""));
    return fc.array(fc.tuple(key, item), { maxLength: 3 }).map((entries) => new Map(entries));
  }

  /** The value of a field, or one of its items. */
  #item(field: DescField, depth: number): fc.Arbitrary<RandomValue> | undefined {
    if (field.message !== undefined) {
      return depth === 0 ? undefined : this.of(field.message, depth - 1);
    }
    if (field.enum !== undefined) {
      return fc.constantFrom(...field.enum.values.map((value) => value.number));
    }
    return scalarArbitrary(field.scalar, this.#options);
  }
}

/** A message in the form in which two implementations are compared. */
export type Plain =
  | string
  | number
  | boolean
  | readonly Plain[]
  | { readonly [field: string]: Plain };

function isDefault(value: RandomScalar): boolean {
  return (
    value === "" ||
    value === 0 ||
    value === 0n ||
    value === false ||
    (value instanceof Uint8Array && value.length === 0)
  );
}

/** 64-bit integers as decimal strings and bytes as base64. */
export function plainScalar(value: RandomScalar): Plain {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
}

/**
 * The common form of a message: fields under their JSON names, without those that are not written
 * because they have their default value. Built with `fromEntries`, so that any key is possible.
 */
export function toPlain(message: RandomMessage): { readonly [field: string]: Plain } {
  return Object.fromEntries(
    [...message.fields].flatMap(([field, value]) => {
      if (field.fieldKind === "list") {
        const items = value as readonly RandomValue[];
        return items.length === 0 ? [] : [[field.jsonName, items.map(plainValue)]];
      }
      if (field.fieldKind === "map") {
        const entries = [...(value as ReadonlyMap<RandomScalar, RandomValue>)];
        if (entries.length === 0) return [];
        return [
          [
            field.jsonName,
            Object.fromEntries(entries.map(([key, item]) => [String(key), plainValue(item)])),
          ],
        ];
      }
      if (!hasPresence(field) && isDefault(value as RandomScalar)) return [];
      return [[field.jsonName, plainValue(value)]];
    }),
  );
}

function plainValue(value: RandomValue): Plain {
  if (typeof value === "object" && "fields" in value) return toPlain(value);
  return plainScalar(value as RandomScalar);
}
