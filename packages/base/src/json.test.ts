import { describe, expect, it } from "vitest";
import { readJsonObject } from "./json.ts";

const read = (text: string, maxDepth?: number) =>
  readJsonObject(new TextEncoder().encode(text), maxDepth === undefined ? {} : { maxDepth });

describe("a JSON object", () => {
  it("is read as JSON.parse reads it", () => {
    const text = '{"a": [1, {"b": "x\\"y"}], "a\\u0062": null}';
    expect(read(text).object).toEqual(JSON.parse(text));
  });

  it.each([
    ["an array", "[]"],
    ["null", "null"],
    ["a string", '"{}"'],
  ])("is not %s", (_, text) => {
    expect(read(text).problem).toEqual({ kind: "not-object" });
  });

  it.each(["", "{", '{"a":}', '{"a":1} x', '{"a', '{"a":"\\'])("is refused as %j", (text) => {
    expect(read(text).problem).toEqual({ kind: "syntax" });
  });

  it("is refused where its bytes are not UTF-8, or begin with a byte order mark", () => {
    expect(readJsonObject(Uint8Array.of(0x7b, 0xff, 0x7d)).problem).toEqual({ kind: "encoding" });
    expect(read("\ufeff{}").problem).toEqual({ kind: "syntax" });
  });

  it("is refused with a name twice in one object, in whichever spelling", () => {
    expect(read('{"x":[{"ab":1,"\\u0061b":2}]}').problem).toEqual({
      kind: "duplicate-name",
      name: "ab",
    });
    expect(read('{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":"a"}').problem).toBeUndefined();
  });

  it("may be nested as deep as allowed, and not deeper", () => {
    expect(read('{"a":[[]]}', 3).problem).toBeUndefined();
    expect(read('{"a":[[[]]]}', 3).problem).toEqual({ kind: "depth", maxDepth: 3 });
  });

  it("is refused without stack use when it is nested a million deep", () => {
    expect(read('{"a":'.repeat(1_000_000)).problem).toEqual({ kind: "depth", maxDepth: 16 });
  });

  it("quotes at most 64 characters of a duplicate name", () => {
    const name = "n".repeat(200);
    expect(read(`{"${name}":1,"${name}":2}`).problem).toEqual({
      kind: "duplicate-name",
      name: "n".repeat(64),
    });
  });
});
