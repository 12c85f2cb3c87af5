import { describe, expect, it } from "vitest";
import {
  boolProperty,
  listProperty,
  mapProperty,
  nullProperty,
  numberProperty,
  propertyMap,
  resourceProperty,
  stringProperty,
  unknownProperty,
} from "./construct.ts";
import { decodeStruct, decodeValue } from "./decode.ts";
import { PropertyError, type PropertyErrorCode } from "./errors.ts";
import { structFromJson, valueFromJson } from "./json.ts";
import type { PropertyPath } from "./path.ts";
import { SIGNATURE, SIGNATURE_KEY, UNKNOWN_SENTINEL } from "./signature.ts";

const signed = (kind: keyof typeof SIGNATURE, members: object = {}) => ({
  [SIGNATURE_KEY]: SIGNATURE[kind],
  ...members,
});

function expectError(read: () => unknown, code: PropertyErrorCode, path: PropertyPath): void {
  let error: unknown;
  try {
    read();
  } catch (caught) {
    error = caught;
  }
  expect(error).toBeInstanceOf(PropertyError);
  expect(error).toMatchObject({ code, path, retryable: false });
}

const bytes = (...parts: (number | string | Uint8Array | number[])[]): Uint8Array =>
  Buffer.concat(
    parts.map((part) =>
      typeof part === "number" ? Buffer.from([part]) : Buffer.from(part as string),
    ),
  );

describe("decodeStruct", () => {
  it("reads every plain kind", () => {
    const json = { none: null, yes: true, no: false, half: 0.5, text: "é", list: [1, []], map: {} };
    expect(decodeStruct(structFromJson(json))).toEqual(
      propertyMap({
        none: nullProperty(),
        yes: boolProperty(true),
        no: boolProperty(false),
        half: numberProperty(0.5),
        text: stringProperty("é"),
        list: listProperty([numberProperty(1), listProperty([])]),
        map: mapProperty({}),
      }),
    );
  });

  it("keeps the order of members, and keys that mean something to JavaScript", () => {
    const json = JSON.parse('{"b":1,"10":2,"__proto__":{"x":1},"constructor":3,"2":4}') as object;
    const members = decodeStruct(structFromJson(json));
    expect([...members.keys()]).toEqual(Object.keys(json));
    expect(members.get("__proto__")).toEqual(mapProperty({ x: numberProperty(1) }));
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  it("reads an empty message as no properties", () => {
    expect(decodeStruct(new Uint8Array()).size).toBe(0);
  });

  it("keeps no reference to the bytes it was given", () => {
    const encoded = structFromJson({ text: "a text", raw: signed("bytes", { value: "/w==" }) });
    const members = decodeStruct(encoded);
    encoded.fill(0);
    expect(members.get("text")).toEqual(stringProperty("a text"));
    expect(members.get("raw")).toEqual({ kind: "bytes", value: Buffer.from([0xff]) });
  });

  it("reads from a view into a larger buffer", () => {
    const encoded = structFromJson({ a: "text", n: 1.5 });
    const larger = new Uint8Array(encoded.length + 7);
    larger.set(encoded, 3);
    expect(decodeStruct(larger.subarray(3, 3 + encoded.length))).toEqual(decodeStruct(encoded));
  });

  it("reads numbers that JSON does not have", () => {
    const number = (value: number) => {
      const field = Buffer.alloc(9, 0x11);
      field.writeDoubleLE(value, 1);
      return decodeValue(field);
    };
    for (const value of [Number.NaN, Infinity, -Infinity, -0, 2 ** -1074]) {
      expect(number(value)).toEqual(numberProperty(value));
    }
  });

  it("does not interpret the signature key at the top level", () => {
    const members = decodeStruct(structFromJson(signed("secret", { value: 1 })));
    expect([...members.keys()]).toEqual([SIGNATURE_KEY, "value"]);
  });

  it("leaves signatures and sentinels alone on request", () => {
    const json = { s: signed("secret"), u: UNKNOWN_SENTINEL.bool, odd: { [SIGNATURE_KEY]: 7 } };
    const members = decodeStruct(structFromJson(json), { signatures: "ignore" });
    expect(members.get("s")).toEqual(
      mapProperty({ [SIGNATURE_KEY]: stringProperty(SIGNATURE.secret) }),
    );
    expect(members.get("u")).toEqual(stringProperty(UNKNOWN_SENTINEL.bool));
  });
});

describe("signature objects", () => {
  const read = (json: unknown) => decodeValue(valueFromJson(json));

  it("reads a secret", () => {
    expect(read(signed("secret", { value: [true] }))).toEqual({
      kind: "secret",
      value: listProperty([boolProperty(true)]),
    });
  });

  it("reads output values, known and unknown", () => {
    expect(read(signed("output", { value: 1, secret: true, dependencies: ["urn:a"] }))).toEqual({
      kind: "output",
      value: numberProperty(1),
      secret: true,
      dependencies: ["urn:a"],
    });
    expect(read(signed("output"))).toEqual({ kind: "output" });
  });

  it("reads assets and archives", () => {
    expect(read(signed("asset", { hash: "h", text: "t" }))).toEqual({
      kind: "asset",
      hash: "h",
      text: "t",
    });
    const assets = { a: signed("asset", { uri: "u" }), b: signed("archive", { path: "p" }) };
    expect(read(signed("archive", { assets }))).toEqual({
      kind: "archive",
      assets: new Map([
        ["a", { kind: "asset", uri: "u" }],
        ["b", { kind: "archive", path: "p" }],
      ]),
    });
  });

  it("reads resource references whose id is known, not known or absent", () => {
    const reference = (id: object) => read(signed("resource", { urn: "urn:a", ...id }));
    expect(reference({})).toEqual(resourceProperty({ urn: "urn:a" }));
    expect(reference({ id: "i" })).toEqual(resourceProperty({ urn: "urn:a", id: "i" }));
    expect(reference({ id: "" })).toEqual(resourceProperty({ urn: "urn:a", id: "" }));
    expect(reference({ id: UNKNOWN_SENTINEL.string })).toEqual(
      resourceProperty({ urn: "urn:a", id: unknownProperty("string") }),
    );
    expect(
      reference({ id: signed("output"), packageVersion: "1.2.3", name: "n", type: "t" }),
    ).toEqual(
      resourceProperty({
        urn: "urn:a",
        id: { kind: "output" },
        packageVersion: "1.2.3",
        name: "n",
        type: "t",
      }),
    );
  });

  it("reads an unknown value of every type", () => {
    for (const [type, sentinel] of Object.entries(UNKNOWN_SENTINEL)) {
      expect(read([sentinel, `${sentinel}x`])).toEqual(
        listProperty([
          unknownProperty(type as keyof typeof UNKNOWN_SENTINEL),
          stringProperty(`${sentinel}x`),
        ]),
      );
    }
  });

  it("keeps members it does not know", () => {
    expect(read(signed("secret", { value: 1, later: "x" }))).toEqual({
      kind: "secret",
      value: numberProperty(1),
      extra: propertyMap({ later: stringProperty("x") }),
    });
  });

  it.each<[string, unknown, PropertyErrorCode, PropertyPath]>([
    ["an unknown signature", { a: { [SIGNATURE_KEY]: "x" } }, "PROPERTY_SIGNATURE_UNKNOWN", ["a"]],
    ["no text as signature", [{ [SIGNATURE_KEY]: 1 }], "PROPERTY_SIGNATURE_UNKNOWN", [0]],
    ["a secret without value", { a: signed("secret") }, "PROPERTY_MALFORMED", ["a"]],
    ["a reference without urn", { a: [signed("resource")] }, "PROPERTY_MALFORMED", ["a", 0]],
    ["a urn of the wrong type", [signed("resource", { urn: 1 })], "PROPERTY_MALFORMED", [0, "urn"]],
    [
      "an id of the wrong type",
      [signed("resource", { urn: "u", id: 1 })],
      "PROPERTY_MALFORMED",
      [0, "id"],
    ],
    [
      "a secret flag of the wrong type",
      [signed("output", { secret: 1 })],
      "PROPERTY_MALFORMED",
      [0, "secret"],
    ],
    [
      "a dependency of the wrong type",
      [signed("output", { dependencies: [1] })],
      "PROPERTY_MALFORMED",
      [0, "dependencies"],
    ],
    ["a text of the wrong type", signed("asset", { text: null }), "PROPERTY_MALFORMED", ["text"]],
    [
      "an archive member that is no asset",
      signed("archive", { assets: { x: signed("secret", { value: signed("asset") }) } }),
      "PROPERTY_MALFORMED",
      ["assets", "x"],
    ],
    ["bytes without value", { a: signed("bytes") }, "PROPERTY_MALFORMED", ["a"]],
    [
      "bytes that are not base64",
      { a: signed("bytes", { value: "!" }) },
      "PROPERTY_MALFORMED",
      ["a"],
    ],
  ])("refuses %s", (_, json, code, path) => {
    expectError(() => read(json), code, path);
  });

  it("gives an error inside of a secret the path of the secret", () => {
    const bad = signed("bytes");
    const late = { value: [bad], [SIGNATURE_KEY]: SIGNATURE.secret };
    expectError(() => read({ a: signed("secret", { value: [bad] }) }), "PROPERTY_MALFORMED", [
      "a",
      0,
    ]);
    expectError(() => read({ a: late }), "PROPERTY_MALFORMED", ["a", 0]);
    expectError(() => read({ a: { value: [bad] } }), "PROPERTY_MALFORMED", ["a", "value", 0]);
  });
});

describe("decode options", () => {
  const json = {
    secret: signed("secret", { value: "s" }),
    output: signed("output", { value: 1, secret: true }),
    pending: signed("output", { dependencies: ["urn:a"] }),
    custom: signed("resource", { urn: "urn:a", id: "id" }),
    component: signed("resource", { urn: "urn:a" }),
    created: signed("resource", { urn: "urn:a", id: "" }),
  };

  it("strips secrets, outputs and references", () => {
    const options = { secrets: "strip", outputs: "strip", resources: "strip" } as const;
    expect(decodeStruct(structFromJson(json), options)).toEqual(
      propertyMap({
        secret: stringProperty("s"),
        output: numberProperty(1),
        pending: unknownProperty("string"),
        custom: stringProperty("id"),
        component: stringProperty("urn:a"),
        created: unknownProperty("string"),
      }),
    );
  });

  it("keeps an output secret when only outputs are stripped", () => {
    const output = decodeStruct(structFromJson(json), { outputs: "strip" }).get("output");
    expect(output).toEqual({ kind: "secret", value: numberProperty(1) });
  });

  it("drops unknown values from maps with what wraps them, and makes them null in lists", () => {
    const unknown = UNKNOWN_SENTINEL.number;
    const members = decodeStruct(
      structFromJson({
        unknown,
        wrapped: signed("secret", { value: signed("output", { value: unknown }) }),
        pending: signed("output"),
        list: [unknown, signed("secret", { value: unknown }), 1],
        reference: signed("resource", { urn: "urn:a", id: unknown }),
        map: { unknown, known: 1 },
      }),
      { unknowns: "drop" },
    );
    expect(members).toEqual(
      propertyMap({
        list: listProperty([nullProperty(), nullProperty(), numberProperty(1)]),
        reference: resourceProperty({ urn: "urn:a", id: "" }),
        map: mapProperty({ known: numberProperty(1) }),
      }),
    );
    expect(decodeValue(valueFromJson(unknown), { unknowns: "drop" })).toEqual(nullProperty());
  });

  it("rejects unknown values with their path", () => {
    const rejects = (value: unknown, path: PropertyPath, more = {}) => {
      const read = () =>
        decodeStruct(structFromJson({ a: [value] }), { unknowns: "reject", ...more });
      expectError(read, "PROPERTY_UNKNOWN_REJECTED", path);
    };
    rejects(UNKNOWN_SENTINEL.map, ["a", 0]);
    rejects(signed("output"), ["a", 0]);
    rejects(signed("secret", { value: { x: UNKNOWN_SENTINEL.map } }), ["a", 0, "x"]);
    rejects(json.created, ["a", 0], { resources: "strip" });
  });

  it("rejects assets with their path", () => {
    const read = () =>
      decodeStruct(structFromJson({ a: [signed("archive")] }), { assets: "reject" });
    expectError(read, "PROPERTY_ASSET_REJECTED", ["a", 0]);
  });

  it("skips nulls and internal keys of plain maps only", () => {
    const members = (options: object) =>
      decodeStruct(
        structFromJson({
          __top: 1,
          none: null,
          map: { __inner: 1, none: null },
          secret: signed("secret", { value: null }),
          archive: signed("archive", { assets: { "__main__.py": signed("asset", { text: "" }) } }),
        }),
        options,
      );
    expect([...members({ skipNulls: true }).keys()]).toEqual(["__top", "map", "secret", "archive"]);
    expect(members({ skipNulls: true }).get("map")).toEqual(
      mapProperty({ __inner: numberProperty(1) }),
    );
    const top = members({ skipInternalKeys: "top" });
    expect([...top.keys()]).toEqual(["none", "map", "secret", "archive"]);
    expect(top.get("map")).toEqual(
      mapProperty({ __inner: numberProperty(1), none: nullProperty() }),
    );
    const all = members({ skipInternalKeys: "all" });
    expect(all.get("map")).toEqual(mapProperty({ none: nullProperty() }));
    expect(all.get("archive")).toMatchObject({
      assets: new Map([["__main__.py", expect.anything()]]),
    });
  });
});

describe("malformed messages", () => {
  // { a: <Value> } and { a: [<Value>] }, both shorter than 128 bytes.
  const member = (value: Uint8Array) =>
    bytes(0x0a, value.length + 5, 0x0a, 1, "a", 0x12, value.length, value);
  const element = (value: Uint8Array) =>
    member(bytes(0x32, value.length + 2, 0x0a, value.length, value));

  it.each<[string, Uint8Array, PropertyErrorCode, PropertyPath]>([
    ["no kind", member(bytes()), "PROPERTY_WIRE_INVALID", ["a"]],
    ["no kind in a list", element(bytes()), "PROPERTY_WIRE_INVALID", ["a", 0]],
    ["a list replaced", member(bytes(0x32, 0, 0x20, 1)), "PROPERTY_WIRE_INVALID", ["a"]],
    ["only unknown fields", member(bytes(0x38, 1)), "PROPERTY_WIRE_INVALID", ["a"]],
    ["a text beyond its value", member(bytes(0x1a, 9, "x")), "PROPERTY_WIRE_INVALID", ["a"]],
    ["a number cut short", member(bytes(0x11, "1234567")), "PROPERTY_WIRE_INVALID", ["a"]],
    ["a bool cut short", element(bytes(0x20)), "PROPERTY_WIRE_INVALID", ["a", 0]],
    [
      "an endless varint",
      member(bytes(0x20, Buffer.alloc(11, 0xff))),
      "PROPERTY_WIRE_INVALID",
      ["a"],
    ],
    ["field number 0", member(bytes(0x02, 0)), "PROPERTY_WIRE_INVALID", ["a"]],
    ["an invalid wire type", member(bytes(0x3f)), "PROPERTY_WIRE_INVALID", ["a"]],
    ["the end of no group", member(bytes(0x3c)), "PROPERTY_WIRE_INVALID", ["a"]],
    ["a group that does not end", member(bytes(0x3b, 0x20, 1)), "PROPERTY_WIRE_INVALID", ["a"]],
    ["an entry cut short", bytes(0x0a, 9, 0x0a), "PROPERTY_WIRE_INVALID", []],
    ["an entry without value", bytes(0x0a, 3, 0x0a, 1, "a"), "PROPERTY_WIRE_INVALID", ["a"]],
    ["a lone tag", bytes(0x0a), "PROPERTY_WIRE_INVALID", []],
    ["text that is not UTF-8", element(bytes(0x1a, 1, [0xff])), "PROPERTY_TEXT_INVALID", ["a", 0]],
    [
      "a surrogate in UTF-8",
      member(bytes(0x1a, 3, [0xed, 0xa0, 0x80])),
      "PROPERTY_TEXT_INVALID",
      ["a"],
    ],
    [
      "a key that is not UTF-8",
      bytes(0x0a, 7, 0x0a, 1, [0xff], 0x12, 2, 0x20, 1),
      "PROPERTY_TEXT_INVALID",
      [],
    ],
  ])("refuses %s", (_, encoded, code, path) => {
    expectError(() => decodeStruct(encoded), code, path);
  });

  it("accepts U+FFFD itself", () => {
    expect(decodeStruct(structFromJson({ a: "\uFFFD" })).get("a")).toEqual(
      stringProperty("\uFFFD"),
    );
  });
});

describe("what only protobuf allows", () => {
  const entry = (...fields: (number | string | Uint8Array)[]) => {
    const body = bytes(...fields);
    return bytes(0x0a, body.length, body);
  };

  it("takes an entry's fields in any order and the last of each", () => {
    const encoded = entry(0x12, 2, 0x20, 1, 0x0a, 1, "x", 0x0a, 1, "a", 0x38, 5);
    expect(decodeStruct(encoded)).toEqual(propertyMap({ a: boolProperty(true) }));
  });

  it("takes an entry without a key for the empty key", () => {
    expect(decodeStruct(entry(0x12, 2, 0x20, 0))).toEqual(propertyMap({ "": boolProperty(false) }));
  });

  it("takes the last kind of a value", () => {
    const value = bytes(0x1a, 1, "x", 0x20, 1, 0x38, 1, 0x08, 0);
    expect(decodeValue(value)).toEqual(nullProperty());
  });

  it("merges occurrences of the same map or list", () => {
    const list = bytes(0x32, 4, 0x0a, 2, 0x20, 1);
    const twice = bytes(list, 0x38, 1, list);
    expect(decodeValue(twice)).toEqual(listProperty([boolProperty(true), boolProperty(true)]));
    expect(decodeValue(bytes(0x20, 1, list))).toEqual(listProperty([boolProperty(true)]));
    const map = (key: string) => {
      const inner = entry(0x0a, 1, key, 0x12, 2, 0x20, 1);
      return bytes(0x2a, inner.length, inner);
    };
    const merged = bytes(map("a"), map("b"), map("a"));
    expect(decodeValue(merged)).toEqual(
      mapProperty({ a: boolProperty(true), b: boolProperty(true) }),
    );
  });

  it("passes over unknown fields, groups in groups included", () => {
    const group = bytes(0x3b, 0x43, 0x20, 1, 0x44, 0x3d, "1234", 0x39, "12345678", 0x3c);
    expect(decodeValue(bytes(group, 0x20, 1))).toEqual(boolProperty(true));
  });

  it("reads lengths and bools of more bytes than needed", () => {
    expect(decodeValue(bytes(0x1a, [0x81, 0x80, 0x00], "x"))).toEqual(stringProperty("x"));
    expect(decodeValue(bytes(0x20, [0x80, 0x80, 0x01]))).toEqual(boolProperty(true));
  });

  it("reads a hundred thousand occurrences of one list in linear time", () => {
    const list = bytes(0x32, 4, 0x0a, 2, 0x20, 1);
    const value = decodeValue(Buffer.alloc(list.length * 100_000, list));
    expect(value.kind === "list" && value.values.length).toBe(100_000);
  });
});
