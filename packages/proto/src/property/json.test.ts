import { describe, expect, it } from "vitest";
import { mapProperty, numberProperty, secretProperty, unknownProperty } from "./construct.ts";
import { PropertyError } from "./errors.ts";
import {
  propertyFromJson,
  propertyToJson,
  structFromJson,
  structToJson,
  valueFromJson,
  valueToJson,
} from "./json.ts";
import { SIGNATURE, SIGNATURE_KEY, UNKNOWN_SENTINEL } from "./signature.ts";

describe("JSON", () => {
  it("becomes a Struct and comes back", () => {
    const json = { a: [1, "x", null, true, { b: {} }], c: [] };
    expect(structToJson(structFromJson(json))).toEqual(json);
    expect(valueToJson(valueFromJson([json]))).toEqual([json]);
  });

  it("keeps the key __proto__ and leaves prototypes alone", () => {
    const json = JSON.parse('{"__proto__":{"polluted":true}}') as object;
    const back = structToJson(structFromJson(json));
    expect(Object.keys(back)).toEqual(["__proto__"]);
    expect(JSON.stringify(back)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("leaves out undefined members and makes undefined elements null", () => {
    expect(structToJson(structFromJson({ a: undefined, b: [undefined] }))).toEqual({ b: [null] });
  });

  it("shows signature objects and sentinels", () => {
    const value = mapProperty({ s: secretProperty(unknownProperty("bool")) });
    expect(propertyToJson(value)).toEqual({
      s: { [SIGNATURE_KEY]: SIGNATURE.secret, value: UNKNOWN_SENTINEL.bool },
    });
  });

  it.each<[string, unknown, (string | number)[]]>([
    ["a function", { a: [() => 1] }, ["a", 0]],
    ["a bigint", { a: 1n }, ["a"]],
    ["a Map", [{ a: new Map() }], [0, "a"]],
    ["a Date", new Date(0), []],
  ])("refuses %s", (_, json, path) => {
    expect(() => propertyFromJson(json)).toThrow(PropertyError);
    expect(() => propertyFromJson(json)).toThrow(
      expect.objectContaining({ code: "PROPERTY_JSON_INVALID", path }),
    );
  });

  it("refuses an object that contains itself, and takes one that is there twice", () => {
    const cyclic: { a: unknown[] } = { a: [] };
    cyclic.a.push(cyclic);
    expect(() => structFromJson(cyclic)).toThrow(
      expect.objectContaining({ code: "PROPERTY_JSON_INVALID", path: ["a", 0] }),
    );
    const shared = { x: 1 };
    expect(structToJson(structFromJson({ a: shared, b: shared }))).toEqual({
      a: shared,
      b: shared,
    });
  });

  it("refuses anything but an object as a Struct", () => {
    expect(() => structFromJson([])).toThrow(PropertyError);
  });

  it("goes to any depth", () => {
    let json: unknown = 7;
    for (let i = 0; i < 100_000; i += 1) json = i % 2 === 0 ? [json] : { a: json };
    let back: unknown = propertyToJson(propertyFromJson(json));
    let depth = 0;
    for (; typeof back === "object" && back !== null; depth += 1) back = Object.values(back)[0];
    expect([depth, back]).toEqual([100_000, 7]);
    expect(propertyFromJson(7)).toEqual(numberProperty(7));
  });
});
