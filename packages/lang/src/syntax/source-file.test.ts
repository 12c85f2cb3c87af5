import { describe, expect, it } from "vitest";
import { parseJson } from "./json-parser.ts";
import { jsonTextSource } from "./json-tree.ts";
import { SourceFile } from "./source-file.ts";

describe("positions", () => {
  it("count lines, grapheme clusters, bytes and UTF-16 units", () => {
    const source = new SourceFile("a.tf", "ab\nx👨‍👩‍👧é = 1\r\nc");
    expect(source.position(0)).toEqual({ line: 1, column: 1, byte: 0, offset: 0 });
    expect(source.position(3)).toEqual({ line: 2, column: 1, byte: 3, offset: 3 });
    expect(source.position(12)).toEqual({ line: 2, column: 3, byte: 22, offset: 12 });
    expect(source.position(13)).toEqual({ line: 2, column: 4, byte: 24, offset: 13 });
    expect(source.position(source.text.length)).toMatchObject({ line: 3, column: 2 });
  });

  it("do not count a byte order mark as a column", () => {
    const { source } = SourceFile.fromBytes("a", new Uint8Array([0xef, 0xbb, 0xbf, 0x61]));
    expect(source.position(source.contentStart)).toEqual({
      line: 1,
      column: 1,
      byte: 3,
      offset: 1,
    });
  });

  it("are clamped to the text", () => {
    const source = new SourceFile("a", "ab");
    expect(source.position(99)).toEqual({ line: 1, column: 3, byte: 2, offset: 2 });
    expect(source.position(-1).offset).toBe(0);
  });

  it("know the text of a line without its ending", () => {
    const source = new SourceFile("a", "one\r\ntwo\n");
    expect([source.lineText(1), source.lineText(2), source.lineText(3)]).toEqual([
      "one",
      "two",
      "",
    ]);
    expect(source.lineCount).toBe(3);
  });

  it("say when bytes are not UTF-8", () => {
    expect(SourceFile.fromBytes("a", new Uint8Array([0x61, 0xff])).valid).toBe(false);
  });
});

describe("embedded sources", () => {
  it("report positions of the file, through escapes", () => {
    const text = '{\n  "a": "x\\n\\u00e9${b}"\n}';
    const { root } = parseJson({ name: "a.json", text });
    const value = root.kind === "object" ? root.members[0]?.value : undefined;
    if (value?.kind !== "string") throw new Error("expected a string");
    const source = jsonTextSource(value);
    expect(source.text).toBe("x\né${b}");
    const located = source.locate(source.text.indexOf("b"), source.text.indexOf("b") + 1);
    expect(located.filename).toBe("a.json");
    expect(text.slice(located.start.offset, located.end.offset)).toBe("b");
    expect(located.start).toMatchObject({ line: 2, column: 20 });
  });
});
