import { describe, expect, it } from "vitest";
import {
  CtyError,
  decodeMsgpack,
  encodeMsgpack,
  Mark,
  rangeOf,
  refine,
  Type,
  typeExpression,
  Value,
} from "../index.ts";

const { string, number, bool, dynamic } = Type;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex");
const n = (text: string) => Value.parseNumber(text);
const unknown = (type: Type) => Value.unknown(type);

/** Values with their bytes, derived from the description of the encoding. */
const VECTORS: readonly (readonly [string, Value, string])[] = [
  ["null", Value.null(Type.list(string)), "c0"],
  ["false", Value.false, "c2"],
  ["true", Value.true, "c3"],
  ["0", n("0"), "00"],
  ["-0 is an integer too", n("-0"), "00"],
  ["127", n("127"), "7f"],
  ["128", n("128"), "cc 80"],
  ["256", n("256"), "cd 0100"],
  ["65536", n("65536"), "ce 00010000"],
  ["2^32", n("4294967296"), "cf 0000000100000000"],
  ["2^53 + 1", n("9007199254740993"), "cf 0020000000000001"],
  ["2^63 - 1", n("9223372036854775807"), "cf 7fffffffffffffff"],
  ["2^63 is text", n("9223372036854775808"), `b3 ${hex(Buffer.from("9223372036854775808"))}`],
  ["-1", n("-1"), "ff"],
  ["-32", n("-32"), "e0"],
  ["-33", n("-33"), "d0 df"],
  ["-129", n("-129"), "d1 ff7f"],
  ["-32769", n("-32769"), "d2 ffff7fff"],
  ["-2^31 - 1", n("-2147483649"), "d3 ffffffff7fffffff"],
  ["-2^63", n("-9223372036854775808"), "d3 8000000000000000"],
  ["1.5 is a double", n("1.5"), "cb 3ff8000000000000"],
  ["0.1 is text", n("0.1"), "a3 302e31"],
  ["0.1 from a double is that double", Value.number(0.1), "cb 3fb999999999999a"],
  ["infinity", Value.positiveInfinity, "cb 7ff0000000000000"],
  ["text", Value.string("né"), "a3 6ec3a9"],
  ["32 bytes of text", Value.string("a".repeat(32)), `d9 20 ${"61".repeat(32)}`],
  ["256 bytes of text", Value.string("a".repeat(256)), `da 0100 ${"61".repeat(256)}`],
  ["65536 bytes of text", Value.string("a".repeat(65536)), `db 00010000 ${"61".repeat(65536)}`],
  ["list", Value.list([Value.true, Value.false]), "92 c3 c2"],
  [
    "16 elements",
    Value.list(Array.from({ length: 16 }, () => Value.true)),
    `dc 0010 ${"c3".repeat(16)}`,
  ],
  ["set in order", Value.set([Value.string("z"), Value.string("y")]), "92 a179 a17a"],
  ["tuple", Value.tuple([n("1"), Value.string("a")]), "92 01 a161"],
  ["map in order", Value.map({ b: n("2"), a: n("1") }), "82 a161 01 a162 02"],
  [
    "16 entries",
    Value.map(
      Array.from({ length: 16 }, (_, i) => [String.fromCharCode(97 + i), Value.true] as const),
    ),
    `de 0010 ${Array.from({ length: 16 }, (_, i) => `a1${(97 + i).toString(16)}c3`).join("")}`,
  ],
  ["object in order", Value.object({ b: Value.null(string), a: Value.true }), "82 a161 c3 a162 c0"],
  ["unknown", unknown(string), "d4 00 00"],
  ["unknown, not null", refine(unknown(string), { notNull: true }), "c7 03 0c 81 01 c2"],
  [
    "unknown with a prefix",
    refine(unknown(string), { notNull: true, fullPrefix: "toy-" }),
    "c7 09 0c 82 01 c2 02 a4746f792d",
  ],
  [
    "unknown within bounds",
    refine(unknown(number), { min: { value: 1 }, max: { value: 5, inclusive: false } }),
    "c7 09 0c 82 03 92 01 c3 04 92 05 c2",
  ],
  [
    "unknown of some length",
    refine(unknown(Type.list(string)), { minLength: 1, maxLength: 300 }),
    "c7 07 0c 82 05 01 06 cd 012c",
  ],
  [
    "unknown of a fixed body size",
    refine(unknown(Type.list(string)), { minLength: 200 }),
    "d6 0c 81 05 cc c8",
  ],
  ["wholly unknown", Value.dynamic, "d4 00 00"],
];

describe("bytes", () => {
  it.each(VECTORS)("of %s", (_name, value, expected) => {
    const wanted = hex(bytes(expected));
    expect(hex(encodeMsgpack(value))).toBe(wanted);
    const back = decodeMsgpack(bytes(expected), value.type);
    expect(back.equals(value)).toBe(value.isWhollyKnown || undefined);
    expect(hex(encodeMsgpack(back))).toBe(wanted);
  });

  it("of whole doubles beyond 64 bits are the digits that identify them among doubles", () => {
    const value = Value.number(1.1e30);
    const text = `11${"0".repeat(29)}`;
    expect(hex(encodeMsgpack(value))).toBe(hex(bytes(`bf ${hex(Buffer.from(text))}`)));
    // Which is not the integer that the double is, exactly.
    expect(decodeMsgpack(encodeMsgpack(value), number).equals(value)).toBe(false);
    expect(decodeMsgpack(encodeMsgpack(value), number).asNumber()).toBe(1.1e30);
  });

  it("of open types carry the type", () => {
    const value = Value.object({
      a: Value.string("x"),
      b: refine(unknown(bool), { notNull: true }),
      c: Value.dynamic,
      d: Value.null(dynamic),
    });
    const type = Type.object({ a: dynamic, b: dynamic, c: dynamic, d: dynamic });
    const expected = `84 a161 92 c408 ${hex(Buffer.from('"string"'))} a178 a162 92 c406 ${hex(Buffer.from('"bool"'))} c703 0c 81 01 c2 a163 d40000 a164 c0`;
    expect(hex(encodeMsgpack(value, type))).toBe(hex(bytes(expected)));
    expect(decodeMsgpack(bytes(expected), type).rawEquals(value)).toBe(true);
  });

  it("of long prefixes stay within what readers take", () => {
    const long = refine(unknown(string), { fullPrefix: "ab-".repeat(200) });
    const range = rangeOf(decodeMsgpack(encodeMsgpack(long), string));
    expect(range.prefix).toBe("ab-".repeat(85));
    const wide = refine(unknown(string), { fullPrefix: "日".repeat(300) });
    const cut = rangeOf(decodeMsgpack(encodeMsgpack(wide), string)).prefix;
    expect(cut.length).toBeGreaterThan(80);
    expect("日".repeat(300).startsWith(cut)).toBe(true);
  });
});

describe("reading other forms", () => {
  it.each([
    ["a wide integer", "d3 0000000000000005", number, n("5")],
    ["an unsigned 64-bit integer", "cf ffffffffffffffff", number, n("18446744073709551615")],
    ["a whole double", "cb 4008000000000000", number, n("3")],
    ["a float of 32 bits", "ca 3fc00000", number, n("1.5")],
    ["digits with an exponent", `a3 ${hex(Buffer.from("1e3"))}`, number, n("1000")],
    ["wide text", "db 00000001 61", string, Value.string("a")],
    ["text as binary", "c4 01 61", string, Value.string("a")],
    ["text that is not normalised", "a3 65cc81", string, Value.string("\u00e9")],
    [
      "attributes out of order",
      "82 a162 c2 a161 c3",
      Type.object({ a: bool, b: bool }),
      Value.object({ a: Value.true, b: Value.false }),
    ],
    [
      "elements of a set twice",
      "93 a161 a162 a161",
      Type.set(string),
      Value.set([Value.string("a"), Value.string("b")]),
    ],
    ["a wide array", "dd 00000001 c3", Type.list(bool), Value.list([Value.true])],
    ["an extension without a body", "c7 00 00", string, Value.unknown(string)],
    ["any extension of one byte", "d4 63 07", string, Value.unknown(string)],
    ["refinements that leave a null", "c7 03 0c 81 01 c3", string, Value.null(string)],
    [
      "refinements that leave one number",
      "c7 0b 0c 83 01 c2 03 92 05 c3 04 92 05 c3",
      number,
      n("5"),
    ],
    [
      "refinements of the future",
      "c7 0d 0c 82 2a 82 01 93 01 02 03 02 a178 01 c2",
      bool,
      refine(unknown(bool), { notNull: true }),
    ],
    ["refinements of an open type", "c7 03 0c 81 01 c2", dynamic, Value.dynamic],
    [
      "lengths that say nothing",
      "c7 0b 0c 81 06 cf 7fffffffffffffff",
      Type.list(string),
      unknown(Type.list(string)),
    ],
    ["key twice in a map", "82 a161 c3 a161 c2", Type.map(bool), Value.map({ a: Value.false })],
  ] as const)("%s", (_name, encoded, type, expected) => {
    const value = decodeMsgpack(bytes(encoded), type);
    expect(typeExpression(value.type)).toBe(typeExpression(expected.type));
    expect(value.rawEquals(expected)).toBe(true);
  });
});

describe("refusals", () => {
  it.each([
    ["nothing", "", string, ""],
    [
      "the wrong kind",
      "82 a161 c3 a162 92 a178 c3",
      Type.object({ a: bool, b: Type.list(string) }),
      ".b[1]",
    ],
    ["a missing attribute", "81 a161 c3", Type.object({ a: bool, b: bool }), ""],
    ["another attribute", "82 a161 c3 a163 c3", Type.object({ a: bool, b: bool }), ".c"],
    ["an attribute twice", "82 a161 c3 a161 c3", Type.object({ a: bool, b: bool }), ".a"],
    ["an empty map for an object", "80", Type.object({ a: bool }), ""],
    ["a tuple of the wrong length", "90", Type.tuple([bool]), ""],
    ["a number that is none", "a1 78", number, ""],
    ["NaN", "cb 7ff8000000000001", number, ""],
    ["a key that is no text", "81 01 c3", Type.map(bool), '[""]'],
    ["a reserved code", "c1", bool, ""],
    ["a value cut short", "92 c3", Type.list(bool), "[1]"],
    ["text cut short", "a5 61", string, ""],
    ["bytes behind the value", "c3 c3", bool, ""],
    ["a length without elements", "dd ffffffff", Type.list(bool), ""],
    ["a map of four billion entries", "df ffffffff", Type.map(bool), ""],
    ["text that is not UTF-8", "a2 c328", string, ""],
    ["another extension", "c7 02 05 0000", string, ""],
    ["refinements that do not fit", "c7 04 0c 81 02 a178", number, ""],
    ["refinements that are no map", "c7 02 0c 9100", string, ""],
    ["an open value that is no pair", "93 c0 c0 c0", dynamic, ""],
    ["an open value with a broken type", "92 c401 22 c0", dynamic, ""],
    [
      "elements of different types",
      `92 92 c406 ${hex(Buffer.from('"bool"'))} c3 92 c408 ${hex(Buffer.from('"number"'))} 01`,
      Type.list(dynamic),
      "",
    ],
  ] as const)("%s", (_name, encoded, type, path) => {
    let error: unknown;
    try {
      decodeMsgpack(bytes(encoded), type);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(CtyError);
    expect(["CTY_MSGPACK", "CTY_JSON"]).toContain(CtyError.from(error).code);
    expect(String(CtyError.from(error).path)).toBe(path);
  });

  it("refinements that contradict each other", () => {
    const crossed = bytes("c7 09 0c 82 03 92 05 c3 04 92 01 c3");
    expect(() => decodeMsgpack(crossed, number)).toThrow(
      expect.objectContaining({ code: "CTY_REFINEMENT" }),
    );
    const oversized = Buffer.concat([bytes("c8 0401 0c 81 02 da 03fc"), Buffer.alloc(0x3fc, 0x61)]);
    expect(() => decodeMsgpack(oversized, string)).toThrow(
      expect.objectContaining({ code: "CTY_MSGPACK" }),
    );
  });

  it("marks and capsules, with the place", () => {
    const marked = Value.object({ a: Value.list([Value.true.mark(Mark.sensitive)]) });
    expect(() => encodeMsgpack(marked)).toThrow(expect.objectContaining({ code: "CTY_MARKED" }));
    const capsule = Value.tuple([Value.capsule(Type.capsule("x"), {})]);
    expect(() => encodeMsgpack(capsule)).toThrow(
      expect.objectContaining({ code: "CTY_UNSERIALIZABLE" }),
    );
    expect(() => encodeMsgpack(capsule, dynamic)).toThrow(
      expect.objectContaining({ code: "CTY_UNSERIALIZABLE" }),
    );
  });

  it("or replacement of what is not UTF-8, on request", () => {
    expect(decodeMsgpack(bytes("a2 c328"), string, { invalidUtf8: "replace" }).asString()).toBe(
      "\ufffd(",
    );
  });

  it("nesting beyond the bound, whatever it hides behind", () => {
    const level = `92c409${hex(Buffer.from('"dynamic"'))}`;
    expect(() => decodeMsgpack(bytes(level.repeat(100_000)), dynamic)).toThrow(
      expect.objectContaining({ code: "CTY_TOO_DEEP" }),
    );
    const wide = JSON.stringify(["tuple", [["list", ["tuple", ["dynamic"]]]]]);
    const hidden = `92c4${wide.length.toString(16)}${hex(Buffer.from(wide))}919191`;
    expect(() => decodeMsgpack(bytes(hidden.repeat(50_000)), dynamic)).toThrow(
      expect.objectContaining({ code: "CTY_TOO_DEEP" }),
    );
  });
});
