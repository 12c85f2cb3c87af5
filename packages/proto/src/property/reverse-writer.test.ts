import { describe, expect, it } from "vitest";
import { ReverseWriter } from "./reverse-writer.ts";

const tooLarge = (): never => {
  throw new RangeError("too large");
};

describe("ReverseWriter", () => {
  it("writes varints of every length", () => {
    for (const [value, hex] of [
      [0, "00"],
      [0x7f, "7f"],
      [0x80, "8001"],
      [0x3fff, "ff7f"],
      [0x4000, "808001"],
      [0x1f_ffff, "ffff7f"],
      [0xfff_ffff, "ffffff7f"],
      [0x7fff_ffff, "ffffffff07"],
    ] as const) {
      const writer = new ReverseWriter(tooLarge);
      writer.varint(value);
      expect(Buffer.from(writer.finish()).toString("hex")).toBe(hex);
    }
  });

  it("puts what is written later before what was written earlier", () => {
    const writer = new ReverseWriter(tooLarge);
    writer.byte(2);
    expect(writer.text("é")).toBe(true);
    writer.double(1);
    expect(writer.size).toBe(12);
    expect(Buffer.from(writer.finish()).toString("hex")).toBe("000000000000f03f02c3a902");
  });

  it("writes nothing of a text with a lone surrogate", () => {
    for (const text of ["\ud800", `${"x".repeat(100)}\udfff`]) {
      const writer = new ReverseWriter(tooLarge);
      expect(writer.text(text)).toBe(false);
      expect(writer.finish().length).toBe(0);
    }
  });

  it("keeps what it has when it grows", () => {
    const writer = new ReverseWriter(tooLarge);
    const bytes = Array.from({ length: 10_000 }, (_, index) => index & 0xff);
    for (const byte of bytes) writer.byte(byte);
    expect([...writer.finish()]).toEqual(bytes.toReversed());
  });

  it("refuses to exceed its limit", () => {
    const writer = new ReverseWriter(tooLarge, 1000);
    expect(writer.text("x".repeat(900))).toBe(true);
    expect(() => writer.text("x".repeat(100))).toThrow("too large");
    expect(writer.size).toBe(902);
  });
});
