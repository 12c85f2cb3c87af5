import { expect, test } from "vitest";
import { MsgpackWriter } from "./msgpack-writer.ts";

test.each([
  ["ASCII", "x"],
  ["two bytes", "ü"],
  ["pairs of surrogates", "🙂"],
])("a string of %s beyond a megabyte is written as a short one is", (_, unit) => {
  const text = unit.repeat(2_000_000);
  const writer = new MsgpackWriter();
  writer.string(text);
  writer.nil();
  const bytes = writer.finish();
  const size = Buffer.byteLength(text);
  expect(bytes[0]).toBe(0xdb);
  expect(Buffer.from(bytes).readUInt32BE(1)).toBe(size);
  expect(
    Buffer.from(bytes)
      .subarray(5, 5 + size)
      .equals(Buffer.from(text)),
  ).toBe(true);
  expect(bytes).toHaveLength(5 + size + 1);
});

test("a long content is not copied when it is finished", () => {
  const writer = new MsgpackWriter();
  writer.string("x".repeat(2_000_000));
  expect(writer.finish().buffer).toBe(writer.finish().buffer);
});
