import { describe, expect, it } from "vitest";
import {
  archiveProperty,
  assetProperty,
  boolProperty,
  bytesProperty,
  listProperty,
  mapProperty,
  nullProperty,
  numberProperty,
  outputProperty,
  propertyMap,
  resourceProperty,
  secretProperty,
  stringProperty,
  unknownProperty,
} from "./construct.ts";
import { decodeStruct, decodeValue } from "./decode.ts";
import { encodeStruct, encodeValue } from "./encode.ts";
import { PropertyError, type PropertyErrorCode } from "./errors.ts";
import { structToJson, valueToJson } from "./json.ts";
import type { EncodeOptions } from "./options.ts";
import type { PropertyPath } from "./path.ts";
import { SIGNATURE, SIGNATURE_KEY, UNKNOWN_SENTINEL } from "./signature.ts";
import type { PropertyValue } from "./value.ts";

const json = (value: PropertyValue, options?: EncodeOptions) =>
  valueToJson(encodeValue(value, options));
const signed = (kind: keyof typeof SIGNATURE, members: object = {}) => ({
  [SIGNATURE_KEY]: SIGNATURE[kind],
  ...members,
});

function expectError(
  value: PropertyValue,
  code: PropertyErrorCode,
  path: PropertyPath,
  options?: EncodeOptions,
): void {
  let error: unknown;
  try {
    encodeValue(value, options);
  } catch (caught) {
    error = caught;
  }
  expect(error).toBeInstanceOf(PropertyError);
  expect(error).toMatchObject({ code, path });
}

describe("encodeStruct", () => {
  it("writes the bytes that every protobuf encoder writes", () => {
    const encoded = encodeStruct(
      propertyMap({ a: numberProperty(1), b: listProperty([boolProperty(true), nullProperty()]) }),
    );
    expect(Buffer.from(encoded).toString("hex")).toBe(
      "0a0e0a0161120911000000000000f03f0a0f0a0162120a32080a0220010a020800",
    );
  });

  it("writes members in their order, or sorted", () => {
    const members = propertyMap({
      b: nullProperty(),
      a: mapProperty({ d: nullProperty(), c: nullProperty() }),
    });
    const keys = (options: EncodeOptions) =>
      JSON.stringify(structToJson(encodeStruct(members, options)));
    expect(keys({})).toBe('{"b":null,"a":{"d":null,"c":null}}');
    expect(keys({ sortKeys: true })).toBe('{"a":{"c":null,"d":null},"b":null}');
  });

  it("writes text of every width and length", () => {
    const texts = ["", "a", "é", "漢", "😀", "\uFFFD", "a".repeat(48), `${"a".repeat(48)}é`];
    texts.push("x".repeat(127), "x".repeat(128), "é".repeat(64), "漢".repeat(20_000));
    const members = propertyMap(
      texts.map((text, index) => [`${text}${index}`, stringProperty(text)]),
    );
    expect(decodeStruct(encodeStruct(members))).toEqual(members);
  });

  it("writes a message of its own size", () => {
    const encoded = encodeStruct(propertyMap({ a: stringProperty("x".repeat(1000)) }));
    expect(encoded.buffer.byteLength).toBe(encoded.byteLength);
  });
});

describe("encodeValue", () => {
  it("writes every kind", () => {
    expect(json(secretProperty(numberProperty(1)))).toEqual(signed("secret", { value: 1 }));
    expect(json(outputProperty({}))).toEqual(signed("output"));
    expect(
      json(outputProperty({ value: nullProperty(), secret: true, dependencies: ["urn:a"] })),
    ).toEqual(signed("output", { value: null, secret: true, dependencies: ["urn:a"] }));
    expect(json(assetProperty({ hash: "h", text: "t" }))).toEqual(
      signed("asset", { hash: "h", text: "t" }),
    );
    expect(
      json(archiveProperty({ assets: new Map([["f", assetProperty({ path: "p" })]]) })),
    ).toEqual(signed("archive", { assets: { f: signed("asset", { path: "p" }) } }));
    expect(json(resourceProperty({ urn: "u", id: "i", packageVersion: "1" }))).toEqual(
      signed("resource", { urn: "u", id: "i", packageVersion: "1" }),
    );
    expect(json(bytesProperty(Uint8Array.of(0xff, 0xfe)))).toEqual(
      signed("bytes", { value: "//4=" }),
    );
    expect(json(unknownProperty("asset"))).toBe(UNKNOWN_SENTINEL.asset);
  });

  it("writes plain content that looks special as it is, like the original", () => {
    const lookalike = mapProperty({
      [SIGNATURE_KEY]: stringProperty(SIGNATURE.secret),
      value: stringProperty(UNKNOWN_SENTINEL.bool),
    });
    expect(json(lookalike)).toEqual(signed("secret", { value: UNKNOWN_SENTINEL.bool }));
    expect(decodeValue(encodeValue(lookalike))).toEqual(secretProperty(unknownProperty("bool")));
  });

  it("refuses text with a lone surrogate, in values and keys", () => {
    const bad = stringProperty(`${"x".repeat(60)}\ud800`);
    expectError(listProperty([nullProperty(), bad]), "PROPERTY_TEXT_INVALID", [1]);
    expectError(
      listProperty([nullProperty(), stringProperty("\udc00"), bad]),
      "PROPERTY_TEXT_INVALID",
      [2],
    );
    expectError(mapProperty({ "a\ud800": nullProperty() }), "PROPERTY_TEXT_INVALID", ["a\ud800"]);
    expectError(mapProperty({ "\ud800": listProperty([]) }), "PROPERTY_TEXT_INVALID", ["\ud800"]);
  });

  it("names the property in errors, and not the wrappers around it", () => {
    const bad = stringProperty("\ud800");
    const around = (value: PropertyValue) =>
      mapProperty({ a: listProperty([nullProperty(), secretProperty(value), nullProperty()]) });
    expectError(around(bad), "PROPERTY_TEXT_INVALID", ["a", 1]);
    expectError(around(mapProperty({ b: bad })), "PROPERTY_TEXT_INVALID", ["a", 1, "b"]);
    expectError(around(outputProperty({ value: listProperty([bad]) })), "PROPERTY_TEXT_INVALID", [
      "a",
      1,
      0,
    ]);
    expectError(around(assetProperty({ text: "\ud800" })), "PROPERTY_TEXT_INVALID", [
      "a",
      1,
      "text",
    ]);
    expectError(
      archiveProperty({ assets: new Map([["f", assetProperty({ uri: "\ud800" })]]) }),
      "PROPERTY_TEXT_INVALID",
      ["assets", "f", "uri"],
    );
  });
});

describe("encode options", () => {
  it("strips secrets, outputs and references", () => {
    const strip = { secrets: "strip", outputs: "strip", resources: "strip" } as const;
    const value = listProperty([
      secretProperty(secretProperty(stringProperty("s"))),
      outputProperty({ value: secretProperty(numberProperty(1)), secret: true }),
      outputProperty({ dependencies: ["urn:a"] }),
      resourceProperty({ urn: "urn:a", id: "id" }),
      resourceProperty({ urn: "urn:a" }),
      resourceProperty({ urn: "urn:a", id: "" }),
    ]);
    const unknown = UNKNOWN_SENTINEL.string;
    expect(json(value, strip)).toEqual(["s", 1, unknown, "id", "urn:a", unknown]);
    expect(json(value, { ...strip, unknowns: "drop" })).toEqual(["s", 1, "id", "urn:a"]);
  });

  it("keeps an output secret when only outputs are stripped", () => {
    const output = outputProperty({ value: numberProperty(1), secret: true });
    expect(json(output, { outputs: "strip" })).toEqual(signed("secret", { value: 1 }));
  });

  it("drops unknown values with what wraps them", () => {
    const unknown = unknownProperty("number");
    const value = mapProperty({
      unknown,
      wrapped: secretProperty(outputProperty({ value: unknown })),
      pending: outputProperty({}),
      list: listProperty([unknown, secretProperty(unknown), numberProperty(1)]),
      reference: resourceProperty({ urn: "u", id: unknownProperty("string") }),
    });
    expect(json(value, { unknowns: "drop" })).toEqual({
      list: [1],
      reference: signed("resource", { urn: "u", id: "" }),
    });
    expect(json(secretProperty(unknown), { unknowns: "drop" })).toBeNull();
  });

  it("rejects unknown values with their path", () => {
    const reject = { unknowns: "reject" } as const;
    const unknown = unknownProperty("number");
    const inList = (value: PropertyValue) => listProperty([nullProperty(), value]);
    expectError(inList(unknown), "PROPERTY_UNKNOWN_REJECTED", [1], reject);
    expectError(inList(outputProperty({})), "PROPERTY_UNKNOWN_REJECTED", [1], reject);
    expectError(
      inList(secretProperty(mapProperty({ a: unknown }))),
      "PROPERTY_UNKNOWN_REJECTED",
      [1, "a"],
      reject,
    );
  });

  it("elides or rejects the contents of assets and archives", () => {
    const archive = archiveProperty({
      hash: "h",
      assets: new Map([["f", assetProperty({ text: "t" })]]),
    });
    expect(json(archive, { assets: "elide" })).toEqual(signed("archive", { hash: "h" }));
    expect(json(assetProperty({ text: "t" }), { assets: "elide" })).toEqual(signed("asset"));
    expectError(listProperty([archive]), "PROPERTY_ASSET_REJECTED", [0], { assets: "reject" });
  });

  it("rejects byte strings", () => {
    const value = listProperty([bytesProperty(Uint8Array.of(0xff))]);
    expectError(value, "PROPERTY_BYTES_REJECTED", [0], { bytes: "reject" });
  });

  it("skips nulls and internal keys of plain maps only", () => {
    const members = propertyMap({
      __top: numberProperty(1),
      none: nullProperty(),
      map: mapProperty({ __inner: numberProperty(1), none: nullProperty() }),
      list: listProperty([nullProperty()]),
      secret: secretProperty(nullProperty()),
      archive: archiveProperty({ assets: new Map([["__main__.py", assetProperty({ text: "" })]]) }),
    });
    const written = (options: EncodeOptions) => structToJson(encodeStruct(members, options));
    expect(written({ skipNulls: true })).toEqual({
      __top: 1,
      map: { __inner: 1 },
      list: [null],
      secret: signed("secret", { value: null }),
      archive: expect.anything(),
    });
    expect(written({ skipInternalKeys: "top" })).toMatchObject({ map: { __inner: 1 } });
    expect(written({ skipInternalKeys: "top" })).not.toHaveProperty("__top");
    const all = written({ skipInternalKeys: "all" });
    expect(all).not.toHaveProperty("__top");
    expect(all).toMatchObject({ map: { none: null }, archive: { assets: { "__main__.py": {} } } });
    expect(all.map).not.toHaveProperty("__inner");
  });
});

describe("depth", () => {
  const DEPTH = 120_000;
  const nest = (wrap: (inner: PropertyValue) => PropertyValue, leaf: PropertyValue) => {
    let value = leaf;
    for (let i = 0; i < DEPTH; i += 1) value = wrap(value);
    return value;
  };

  it.each<[string, (inner: PropertyValue) => PropertyValue]>([
    ["lists", (inner) => listProperty([inner])],
    ["maps", (inner) => mapProperty({ a: inner })],
    ["secrets", secretProperty],
    ["outputs", (value) => outputProperty({ value })],
    ["all of them", (inner) => secretProperty(listProperty([mapProperty({ a: inner })]))],
  ])("does not limit %s", (_, wrap) => {
    const encoded = encodeStruct(propertyMap({ top: nest(wrap, numberProperty(7)) }));
    const decoded = decodeStruct(encoded);
    // toEqual would recurse.
    expect(Buffer.compare(encodeStruct(decoded), encoded)).toBe(0);
  });

  it("does not make the options quadratic", () => {
    const chain = nest(secretProperty, unknownProperty("bool"));
    expect(json(chain, { unknowns: "drop" })).toBeNull();
    const known = nest(secretProperty, boolProperty(true));
    expect(encodeValue(known, { unknowns: "reject" }).length).toBeGreaterThan(DEPTH);
    expect(json(known, { secrets: "strip" })).toBe(true);
    expect(decodeValue(encodeValue(chain), { unknowns: "drop" })).toEqual(nullProperty());
  });

  it("reports the path of an error at any depth", () => {
    const deep = nest((inner) => listProperty([inner]), stringProperty("\ud800"));
    let error: unknown;
    try {
      encodeValue(deep);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code: "PROPERTY_TEXT_INVALID" });
    expect((error as PropertyError).path.length).toBe(DEPTH);
    expect((error as PropertyError).message.length).toBeLessThan(500);
  });
});
