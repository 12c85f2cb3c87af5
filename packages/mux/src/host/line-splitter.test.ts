import { describe, expect, it } from "vitest";
import { LineSplitter, LineTail } from "./line-splitter.ts";

function split(...chunks: string[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return lines;
}

describe("LineSplitter", () => {
  it("puts lines together across chunks and keeps empty ones", () => {
    expect(split("a\n\nb", "c\r\n", "d")).toEqual(["a", "", "bc", "d"]);
  });

  it("does not cut a character that comes in two chunks", () => {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    const bytes = Buffer.from("é\n");
    splitter.push(bytes.subarray(0, 1));
    splitter.push(bytes.subarray(1));
    expect(lines).toEqual(["é"]);
  });

  it("hands a line without an end on in pieces of 64 KiB", () => {
    const lines = split("x".repeat(200_000));
    expect(lines.map(({ length }) => length)).toEqual([65_536, 65_536, 65_536, 3392]);
  });
});

describe("LineTail", () => {
  it("keeps the last lines, each cut to what a person reads", () => {
    const tail = new LineTail(2);
    for (const line of ["one", "two", "y".repeat(5000)]) tail.add(line);
    expect(tail.text).toBe(`\ntwo\n${"y".repeat(1000)}...`);
  });
});
