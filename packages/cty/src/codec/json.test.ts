import { describe, expect, it } from "vitest";
import {
  CtyError,
  decodeJson,
  decodeJsonImplied,
  decodeTypeJson,
  encodeJson,
  encodeTypeJson,
  MAX_TYPE_DEPTH,
  Mark,
  Type,
  typeExpression,
  Value,
} from "../index.ts";

const { string, number, bool, dynamic } = Type;

describe("types", () => {
  it.each([
    [string, '"string"'],
    [dynamic, '"dynamic"'],
    [Type.list(number), '["list","number"]'],
    [Type.tuple([bool, Type.set(string)]), '["tuple",["bool",["set","string"]]]'],
    [Type.emptyTuple, '["tuple",[]]'],
    [Type.object({ b: string, a: Type.map(bool) }), '["object",{"a":["map","bool"],"b":"string"}]'],
    [
      Type.object({ b: string, a: string }, { optional: ["b", "a"] }),
      '["object",{"a":"string","b":"string"},["a","b"]]',
    ],
    [Type.object({ "<é>": string }), '["object",{"\\u003cé\\u003e":"string"}]'],
  ])("%#: are written and read", (type, json) => {
    expect(encodeTypeJson(type)).toBe(json);
    expect(decodeTypeJson(json).equals(type)).toBe(true);
    expect(
      decodeTypeJson(new TextEncoder().encode(` ${json.replaceAll(",", " , ")}\n`)).equals(type),
    ).toBe(true);
  });

  it.each([
    "",
    '"text"',
    '["list"]',
    '["list","string","string"]',
    '["object",{"a":"string"},["b"]]',
    '["tuple","string"]',
    '{"a":"string"}',
    '"string" "string"',
    "null",
  ])("%j is none", (json) => {
    expect(() => decodeTypeJson(json)).toThrow(CtyError);
  });

  it("of capsules have no form", () => {
    expect(() => encodeTypeJson(Type.list(Type.capsule("x")))).toThrow(
      expect.objectContaining({ code: "CTY_UNSERIALIZABLE" }),
    );
  });

  it("nested too deeply are refused before they cost anything", () => {
    const bomb = '["list",'.repeat(1_000_000);
    expect(() => decodeTypeJson(bomb)).toThrow(expect.objectContaining({ code: "CTY_TOO_DEEP" }));
    const deepest = '["list",'.repeat(MAX_TYPE_DEPTH) + '"string"' + "]".repeat(MAX_TYPE_DEPTH);
    expect(encodeTypeJson(decodeTypeJson(deepest))).toBe(deepest);
  });
});

describe("writing", () => {
  it.each([
    [
      Value.string('a"\\\n\t\b\u0001<>&\u2028é🙂'),
      '"a\\"\\\\\\n\\t\\b\\u0001\\u003c\\u003e\\u0026\\u2028é🙂"',
    ],
    [Value.parseNumber("12345678901234567890.5"), "12345678901234567890.5"],
    [Value.parseNumber("1e30"), "1000000000000000000000000000000"],
    [Value.null(string), "null"],
    [Value.set([Value.string("b"), Value.string("a")]), '["a","b"]'],
    [Value.map({ b: Value.true, a: Value.false }), '{"a":false,"b":true}'],
    [Value.map({}, string), "{}"],
    [Value.emptyObject, "{}"],
    [Value.object({ b: Value.tuple([]), a: Value.list([], string) }), '{"a":[],"b":[]}'],
  ])("%#", (value, json) => {
    expect(encodeJson(value)).toBe(json);
  });

  it("adds the type where it is open", () => {
    const value = Value.object({ a: Value.string("x"), b: Value.null(dynamic) });
    expect(encodeJson(value, Type.object({ a: dynamic, b: dynamic }))).toBe(
      '{"a":{"value":"x","type":"string"},"b":null}',
    );
    expect(encodeJson(value, dynamic)).toBe(
      '{"value":{"a":"x","b":null},"type":["object",{"a":"string","b":"dynamic"}]}',
    );
  });

  it("converts what does not conform", () => {
    expect(encodeJson(Value.tuple([Value.number(1)]), Type.list(string))).toBe('["1"]');
  });

  it.each([
    [
      "marks",
      Value.object({ a: Value.list([Value.true.mark(Mark.sensitive)]) }),
      "CTY_MARKED",
      ".a[0]",
    ],
    ["unknowns", Value.map({ k: Value.unknown(string) }), "CTY_UNSERIALIZABLE", '["k"]'],
    ["infinity", Value.tuple([Value.positiveInfinity]), "CTY_UNSERIALIZABLE", "[0]"],
    ["capsules", Value.capsule(Type.capsule("x"), {}), "CTY_UNSERIALIZABLE", ""],
  ])("refuses %s and tells where", (_name, value, code, path) => {
    expect(() => encodeJson(value)).toThrow(expect.objectContaining({ code }));
    try {
      encodeJson(value);
    } catch (error) {
      expect(String(CtyError.from(error).path)).toBe(path);
    }
  });
});

describe("reading", () => {
  it.each([
    ["numbers keep all digits", "9007199254740993", number, Value.parseNumber("9007199254740993")],
    ["numbers with an exponent", "1.5e3", number, Value.parseNumber("1500")],
    ["a number in a string", '"0.1"', number, Value.parseNumber("0.1")],
    ["a bool in a string", '"true"', bool, Value.true],
    ["a number where text is wanted stays as written", "1.50", string, Value.string("1.50")],
    ["a bool where text is wanted", "false", string, Value.string("false")],
    ["null of any type", "null", Type.list(string), Value.null(Type.list(string))],
    [
      "missing attributes",
      '{"b":1}',
      Type.object({ a: string, b: number }),
      Value.object({ a: Value.null(string), b: Value.parseNumber("1") }),
    ],
    [
      "attributes in any order",
      '{"b":1,"a":"x"}',
      Type.object({ a: string, b: number }),
      Value.object({ a: Value.string("x"), b: Value.parseNumber("1") }),
    ],
    [
      "a member that comes twice",
      '{"a":"x","a":"y"}',
      Type.object({ a: string }),
      Value.object({ a: Value.string("y") }),
    ],
    [
      "duplicates in a set",
      '["b","a","b"]',
      Type.set(string),
      Value.set([Value.string("a"), Value.string("b")]),
    ],
    ["escapes", '"\\u0041\\ud83d\\ude42\\/\\n"', string, Value.string("A🙂/\n")],
    ["half a surrogate", '"\\ud83d"', string, Value.string("\ufffd")],
    [
      "white space",
      ' [ "a" ,\n\t"b" ] ',
      Type.list(string),
      Value.list([Value.string("a"), Value.string("b")]),
    ],
    [
      "optional attributes mean nothing here",
      "{}",
      Type.object({ a: string }, { optional: ["a"] }),
      Value.object({ a: Value.null(string) }),
    ],
    [
      "a value of open type",
      '{"value":[1],"type":["list","number"]}',
      dynamic,
      Value.list([Value.parseNumber("1")]),
    ],
    [
      "with the type first",
      '{"type":["set","bool"],"value":[true]}',
      dynamic,
      Value.set([Value.true]),
    ],
    [
      "open elements of one type",
      '[{"value":1,"type":"number"},null]',
      Type.list(dynamic),
      Value.list([Value.parseNumber("1"), Value.null(dynamic)]),
    ],
  ] as const)("%s", (_name, json, type, expected) => {
    const value = decodeJson(json, type);
    expect(typeExpression(value.type)).toBe(typeExpression(expected.type));
    expect(value.rawEquals(expected)).toBe(true);
    expect(decodeJson(new TextEncoder().encode(json), type).rawEquals(expected)).toBe(true);
  });

  it.each([
    ["the wrong kind", '{"a":[true,"x"]}', Type.object({ a: Type.list(bool) }), ".a[1]"],
    ["an unknown attribute", '{"a":"x","c":1}', Type.object({ a: string }), ".c"],
    ["too few elements", "[1]", Type.tuple([number, number]), ""],
    ["too many elements", "[1,2]", Type.tuple([number]), "[1]"],
    ["text behind the value", "1 2", number, ""],
    ["an open end", '["a"', Type.list(string), "[0]"],
    ["a trailing comma", '["a",]', Type.list(string), "[1]"],
    ["a leading zero", "01", number, ""],
    ["a raw control character", '"a\nb"', string, ""],
    [
      "elements of different types",
      '[{"value":1,"type":"number"},{"value":true,"type":"bool"}]',
      Type.list(dynamic),
      "",
    ],
    ["a value without its type", '{"value":1}', dynamic, ""],
    ["something else beside it", '{"value":1,"type":"number","x":1}', dynamic, ""],
    ["an object for a string", '{"a":{}}', Type.object({ a: string }), ".a"],
    ["nothing", "", string, ""],
  ] as const)("refuses %s", (_name, json, type, path) => {
    expect(() => decodeJson(json, type)).toThrow(expect.objectContaining({ code: "CTY_JSON" }));
    try {
      decodeJson(json, type);
    } catch (error) {
      expect(String(CtyError.from(error).path)).toBe(path);
    }
  });

  it("bounds how deeply open values are nested", () => {
    const levels = 600;
    const bomb = '{"type":"dynamic","value":'.repeat(levels) + "null" + "}".repeat(levels);
    expect(() => decodeJson(bomb, dynamic)).toThrow(
      expect.objectContaining({ code: "CTY_TOO_DEEP" }),
    );
    const endless = '{"type":"dynamic","value":'.repeat(100_000);
    expect(() => decodeJson(endless, dynamic)).toThrow(CtyError);
    expect(() => decodeJsonImplied("[".repeat(1_000_000))).toThrow(
      expect.objectContaining({ code: "CTY_TOO_DEEP" }),
    );
  });
});

describe("reading by structure", () => {
  it("implies tuples and objects", () => {
    const value = decodeJsonImplied('{"a":[1,"x",null],"b":{"c":true}}');
    const expected = Value.object({
      a: Value.tuple([Value.parseNumber("1"), Value.string("x"), Value.null(dynamic)]),
      b: Value.object({ c: Value.true }),
    });
    expect(value.rawEquals(expected)).toBe(true);
  });

  it("accepts members of one name only if they are of one type", () => {
    expect(
      decodeJsonImplied('{"a":1,"a":2}').rawEquals(Value.object({ a: Value.parseNumber("2") })),
    ).toBe(true);
    expect(() => decodeJsonImplied('{"a":1,"a":"x"}')).toThrow(
      expect.objectContaining({ code: "CTY_JSON" }),
    );
    expect(() => decodeJsonImplied("[1] 2")).toThrow(expect.objectContaining({ code: "CTY_JSON" }));
  });
});
