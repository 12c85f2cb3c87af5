import { fromBinary, toJson } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, it } from "vitest";
import { unknownProperty } from "./construct.ts";
import { decodeStruct } from "./decode.ts";
import { encodeStruct } from "./encode.ts";
import { equalProperties } from "./equal.ts";
import { PropertyError } from "./errors.ts";
import { propertyFromJson, propertyToJson, structFromJson, structToJson } from "./json.ts";
import { formatPropertyPath, parsePropertyPath } from "./path.ts";
import { kindOfSignature, SIGNATURE, SIGNATURE_KEY, UNKNOWN_SENTINEL } from "./signature.ts";
import type { PropertyMap, PropertyValue, ResourceProperty, UnknownType } from "./value.ts";
import { containsUnknown, isSecret, walkProperties } from "./walk.ts";

/** Keys that mean something to JavaScript, to the codec, or to formats of paths. */
const key = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("__proto__", "constructor", "0", "__internal", "value", "a.b[0]", '"', "\\"),
);
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.constantFrom("", "\uFFFD", "\uFEFFx"),
);
const number = fc.double();

const optional = <T extends object>(record: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(record, { requiredKeys: [] });

const { map: anyMap } = fc.letrec<{
  value: PropertyValue;
  map: PropertyMap;
  asset: PropertyValue;
}>((tie) => {
  const extra = optional({
    extra: fc
      .array(fc.tuple(fc.constantFrom("later", "__proto__", "x"), tie("value")), {
        minLength: 1,
        maxLength: 2,
      })
      .map((entries) => new Map(entries)),
  });
  const withExtra = <T extends object>(value: fc.Arbitrary<T>) =>
    fc
      .tuple(value, fc.oneof({ weight: 5, arbitrary: fc.constant({}) }, extra))
      .map(([properties, more]) => ({ ...properties, ...more }));
  const unknown = fc
    .constantFrom(...(Object.keys(UNKNOWN_SENTINEL) as UnknownType[]))
    .map((type) => unknownProperty(type));
  const output = withExtra(
    fc.record(
      {
        kind: fc.constant("output" as const),
        value: tie("value"),
        secret: fc.boolean(),
        dependencies: fc.array(text, { maxLength: 3 }),
      },
      { requiredKeys: ["kind"] },
    ),
  );
  const source = { hash: text, path: text, uri: text };
  return {
    map: fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((entries) => new Map(entries)),
    asset: fc.oneof(
      { depthSize: "small" },
      withExtra(
        fc.record({ kind: fc.constant("asset"), ...source, text }, { requiredKeys: ["kind"] }),
      ),
      withExtra(
        fc.record(
          {
            kind: fc.constant("archive"),
            ...source,
            assets: fc
              .array(fc.tuple(key, tie("asset")), { maxLength: 3 })
              .map((entries) => new Map(entries)),
          },
          { requiredKeys: ["kind"] },
        ),
      ),
    ),
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant({ kind: "null" } as const),
      fc.record({ kind: fc.constant("bool" as const), value: fc.boolean() }),
      fc.record({ kind: fc.constant("number" as const), value: number }),
      fc.record({ kind: fc.constant("string" as const), value: text }),
      unknown,
      withExtra(
        fc.record({
          kind: fc.constant("bytes"),
          value: fc.uint8Array().map((b) => Buffer.from(b)),
        }),
      ),
      fc.record({
        kind: fc.constant("list" as const),
        values: fc.array(tie("value"), { maxLength: 5 }),
      }),
      fc.record({ kind: fc.constant("map" as const), entries: tie("map") }),
      withExtra(fc.record({ kind: fc.constant("secret"), value: tie("value") })),
      output,
      tie("asset"),
      withExtra(
        fc.record(
          {
            kind: fc.constant("resource"),
            urn: text,
            id: fc.oneof(
              text.map((value) => ({ kind: "string" as const, value })),
              unknown,
              fc.constant({ kind: "output" as const }),
            ) as fc.Arbitrary<NonNullable<ResourceProperty["id"]>>,
            name: text,
            type: text,
            packageVersion: text,
          },
          { requiredKeys: ["kind", "urn"] },
        ),
      ),
    ),
  };
});

/** JSON that often looks like a signature object, well-formed or not. */
const { json: lookalike } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: false }),
    text,
    fc.constantFrom(...Object.values(UNKNOWN_SENTINEL)),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(key, tie("json"), { maxKeys: 3 }),
    fc
      .tuple(
        fc.oneof(
          { weight: 8, arbitrary: fc.constantFrom(...Object.values(SIGNATURE)) },
          { weight: 1, arbitrary: tie("json") },
        ),
        fc.dictionary(
          fc.constantFrom(
            "value",
            "hash",
            "text",
            "path",
            "uri",
            "assets",
            "urn",
            "id",
            "name",
            "type",
            "packageVersion",
            "secret",
            "dependencies",
            "later",
          ),
          fc.oneof(tie("json"), text, fc.constantFrom("", "AAE=", true, [], ["urn:a"])),
          { maxKeys: 4 },
        ),
      )
      .map(([signature, members]) => ({ [SIGNATURE_KEY]: signature, ...members })),
  ),
}));

const object = fc.dictionary(key, lookalike, { maxKeys: 4 });

describe("round trips", () => {
  it("returns every value", () => {
    fc.assert(
      fc.property(anyMap, (properties) => {
        const encoded = encodeStruct(properties);
        const decoded = decodeStruct(encoded);
        expect(decoded).toEqual(properties);
        expect(equalProperties(decoded, properties)).toBe(true);
        expect(Buffer.compare(encodeStruct(decoded), encoded)).toBe(0);
      }),
    );
  });

  it("returns every Struct, or an error at a path that is in it", () => {
    let refused = 0;
    fc.assert(
      fc.property(object, (json) => {
        const encoded = structFromJson(json);
        let properties: PropertyMap;
        try {
          properties = decodeStruct(encoded);
        } catch (error) {
          if (!(error instanceof PropertyError)) throw error;
          refused += 1;
          expect(at(json, error.path)).toBe(true);
          return;
        }
        expect(structToJson(encodeStruct(properties))).toEqual(structToJson(encoded));
      }),
    );
    expect(refused).toBeGreaterThan(0);
  });

  it("agrees with another protobuf implementation", () => {
    fc.assert(
      fc.property(object, (json) => {
        const encoded = structFromJson(json);
        const message = fromBinary(StructSchema, encoded);
        expect(toJson(StructSchema, message)).toEqual(structToJson(encoded));
      }),
    );
  });

  it("gives the same bytes for equal values when keys are sorted", () => {
    fc.assert(
      fc.property(anyMap, (properties) => {
        const reversed = new Map([...properties].reverse());
        const options = { sortKeys: true };
        const encoded = encodeStruct(properties, options);
        expect(Buffer.compare(encodeStruct(reversed, options), encoded)).toBe(0);
        expect(equalProperties(decodeStruct(encoded), properties)).toBe(true);
      }),
    );
  });

  it("returns JSON and property paths", () => {
    fc.assert(
      fc.property(object, (json) => {
        expect(propertyToJson(propertyFromJson(json))).toEqual(json);
      }),
    );
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            key.filter((step) => step !== ""),
            fc.nat(),
          ),
        ),
        (path) => {
          expect(parsePropertyPath(formatPropertyPath(path))).toEqual(path);
        },
      ),
    );
  });
});

/** Whether a path leads somewhere, where the members of wrappers are no steps. */
function at(json: unknown, path: readonly (string | number)[]): boolean {
  const [step, ...rest] = path;
  if (json === null || typeof json !== "object") return step === undefined;
  const signature: unknown = Reflect.get(json, SIGNATURE_KEY);
  const kind = typeof signature === "string" ? kindOfSignature(signature) : undefined;
  const inner = ["value", "id"].map((name): unknown => Reflect.get(json, name));
  if ((kind === "secret" || kind === "output") && inner.some((value) => at(value, path)))
    return true;
  return step === undefined || (Object.hasOwn(json, step) && at(Reflect.get(json, step), rest));
}

describe("options", () => {
  it("do the same when decoding as when encoding", () => {
    const options = fc.record({
      secrets: fc.constantFrom("keep" as const, "strip" as const),
      outputs: fc.constantFrom("keep" as const, "strip" as const),
      resources: fc.constantFrom("keep" as const, "strip" as const),
      unknowns: fc.constantFrom("keep" as const, "drop" as const),
      skipNulls: fc.boolean(),
      skipInternalKeys: fc.constantFrom("none" as const, "top" as const, "all" as const),
    });
    fc.assert(
      fc.property(anyMap, options, (properties, chosen) => {
        // A dropped element leaves a list when encoding and becomes null when decoding.
        fc.pre(chosen.unknowns === "keep" || !hasListWithUnknown(properties));
        const asEncoded = decodeStruct(encodeStruct(properties, chosen));
        const asDecoded = decodeStruct(encodeStruct(properties), chosen);
        expect(asDecoded).toEqual(asEncoded);
        if (chosen.secrets === "strip" && chosen.outputs === "strip") {
          walkProperties(asDecoded, ({ value }) => {
            expect(isSecret(value)).toBe(false);
            return value.kind === "resource" ? "skip" : undefined;
          });
        }
      }),
    );
  });
});

function hasListWithUnknown(properties: PropertyMap): boolean {
  let found = false;
  walkProperties(properties, ({ value }) => {
    found ||= value.kind === "list" && value.values.some((element) => containsUnknown(element));
    return found ? "stop" : undefined;
  });
  return found;
}

/* Encodings of the same Struct that no encoder chooses but every decoder has to take. */

type Plain = null | boolean | number | string | Plain[] | { [key: string]: Plain };

function varint(value: number, padding = 0): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80 || padding > bytes.length; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

const field = (tag: number, body: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([tag, ...varint(body.length)]), body]);

/** Encodes with choices taken from a source of small random numbers. */
class LooseEncoder {
  readonly #choose: (count: number) => number;

  constructor(choose: (count: number) => number) {
    this.#choose = choose;
  }

  struct(json: { [key: string]: Plain }): Buffer {
    return Buffer.concat(Object.entries(json).map(([name, value]) => this.#entry(name, value)));
  }

  #entry(name: string, value: Plain): Buffer {
    const nameField = field(0x0a, Buffer.from(name));
    const body = field(0x12, this.#value(value));
    const parts = [
      [nameField, body],
      [body, nameField],
      [field(0x0a, Buffer.from("other")), nameField, this.#unknown(), body],
      [field(0x12, Buffer.alloc(0)), body, nameField],
    ];
    const chosen = parts[this.#choose(parts.length)]!;
    return Buffer.concat([this.#unknown(), field(0x0a, Buffer.concat(chosen))]);
  }

  #value(value: Plain): Buffer {
    const before = [
      Buffer.alloc(0),
      this.#unknown(),
      Buffer.from([0x20, 1]),
      field(0x1a, Buffer.from("x")),
    ];
    const kinds = before[this.#choose(before.length)]!;
    return Buffer.concat([kinds, ...this.#kind(value), this.#unknown()]);
  }

  #kind(value: Plain): Buffer[] {
    if (value === null) return [Buffer.from([0x08, ...varint(this.#choose(300))])];
    if (typeof value === "boolean")
      return [Buffer.from([0x20, ...varint(Number(value), this.#choose(3))])];
    if (typeof value === "string") return [field(0x1a, Buffer.from(value))];
    if (typeof value === "number") {
      const double = Buffer.alloc(9, 0x11);
      double.writeDoubleLE(value, 1);
      return [double];
    }
    // Two occurrences of the message, which are merged.
    if (Array.isArray(value)) {
      const at = this.#choose(value.length + 1);
      return [value.slice(0, at), value.slice(at)].map((half) =>
        field(0x32, Buffer.concat(half.map((v) => field(0x0a, this.#value(v))))),
      );
    }
    const entries = Object.entries(value);
    const at = this.#choose(entries.length + 1);
    return [entries.slice(0, at), entries.slice(at)].map((half) =>
      field(0x2a, this.struct(Object.fromEntries(half))),
    );
  }

  #unknown(): Buffer {
    const fields = [
      [],
      [],
      [0x38, 0x85, 0x01],
      [0x3b, 0x43, 0x3d, 1, 2, 3, 4, 0x44, 0x3c],
      [0x3a, 1, 9],
    ];
    return Buffer.from(fields[this.#choose(fields.length)]!);
  }
}

describe("the wire", () => {
  const plain = fc.dictionary(key, fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Plain>, {
    maxKeys: 4,
  });

  it("reads every encoding of a Struct", () => {
    fc.assert(
      fc.property(plain, fc.array(fc.nat(), { minLength: 1 }), (json, choices) => {
        let taken = 0;
        const choose = (count: number) => choices[taken++ % choices.length]! % count;
        const encoded = new LooseEncoder(choose).struct(json);
        expect(structToJson(encoded)).toEqual(structToJson(structFromJson(json)));
        expect(structToJson(encoded)).toEqual(
          toJson(StructSchema, fromBinary(StructSchema, encoded)),
        );
      }),
    );
  });

  it("refuses damaged messages with a PropertyError, or reads what others read", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 });
    let refused = 0;
    fc.assert(
      fc.property(plain, damage, fc.nat(), (json, changes, cut) => {
        let encoded: Uint8Array = structFromJson(json);
        for (const [at, byte] of changes)
          if (encoded.length > 0) encoded[at % encoded.length] = byte;
        if (cut % 3 === 0) encoded = encoded.subarray(0, cut % (encoded.length + 1));
        let found: unknown;
        try {
          found = structToJson(encoded);
        } catch (error) {
          expect(error).toBeInstanceOf(PropertyError);
          refused += 1;
          return;
        }
        expect(withoutSpecialNumbers(found)).toEqual(withoutSpecialNumbers(readByOther(encoded)));
      }),
    );
    expect(refused).toBeGreaterThan(0);
  });
});

/** The other implementation above takes fields of the wrong wire type for what they should be. */
const Struct = protobuf.Root.fromJSON(
  protobuf.common.get("google/protobuf/struct.proto")!,
).lookupType("google.protobuf.Struct");

interface DynamicValue {
  readonly kind: string;
  readonly [kind: string]: unknown;
}

function readByOther(encoded: Uint8Array): unknown {
  const read = (value: DynamicValue): unknown => {
    switch (value.kind) {
      case "structValue":
        return readStruct(value.structValue as DynamicStruct);
      case "listValue":
        return (value.listValue as { readonly values: DynamicValue[] }).values.map(read);
      case "nullValue":
        return null;
      default:
        return value[value.kind];
    }
  };
  interface DynamicStruct {
    readonly fields: { readonly [key: string]: DynamicValue };
  }
  const readStruct = ({ fields }: DynamicStruct) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, read(value)]));
  return readStruct(Struct.decode(encoded) as unknown as DynamicStruct);
}

/** NaN and -0 compare in ways of their own. */
function withoutSpecialNumbers(json: unknown): string {
  return JSON.stringify(json, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
      : value,
  );
}
