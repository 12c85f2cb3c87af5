import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Http2ProtocolError } from "./error-codes.ts";
import { encodeHeaders } from "./header-block.ts";
import { decodeHeaders } from "./hpack-decoder.ts";

const LIMIT = 1000;
const decode = (hex: string, limit = LIMIT) => decodeHeaders(Buffer.from(hex, "hex"), limit);

describe("decodeHeaders", () => {
  it.each([
    [
      "a literal that is to be indexed",
      "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
      "custom-key",
      "custom-header",
    ],
    [
      "a literal without indexing, its name by index",
      "040c2f73616d706c652f70617468",
      ":path",
      "/sample/path",
    ],
    ["a literal that is never indexed", "100870617373776f726406736563726574", "password", "secret"],
    ["an index", "82", ":method", "GET"],
    ["the last index of the static table", "bd", "www-authenticate", ""],
    ["a value in Huffman code", "418cf1e3c2e5f23a6ba0ab90f4ff", ":authority", "www.example.com"],
  ])("reads %s", (_, hex, name, value) => {
    expect(decode(hex)).toEqual([[name, value]]);
  });

  it("takes a table of no bytes before the first header", () => {
    expect(decode("2082")).toEqual([[":method", "GET"]]);
  });

  it.each([
    ["a larger table than was asked for", "3e82"],
    ["another table behind a header", "8220"],
    ["an index behind the static table", "be"],
    ["index zero", "80"],
    ["a name that is cut off", "000a6375"],
    ["a number that is cut off", "7f"],
    ["a number without end", "7fffffffffffffffffff"],
    ["a string without a length", "0001"],
  ])("refuses %s", (_, hex) => {
    expect(() => decode(hex)).toThrow(expect.objectContaining({ code: "COMPRESSION_ERROR" }));
  });

  it("takes headers up to the limit", () => {
    const size = ":method".length + "GET".length + 32;
    expect(decode("8282", 2 * size)).toHaveLength(2);
    expect(() => decode("8282", 2 * size - 1)).toThrow(
      expect.objectContaining({ code: "ENHANCE_YOUR_CALM" }),
    );
  });

  it("reads what encodeHeaders writes", () => {
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
      maxLength: 300,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), (headers) => {
        expect(decodeHeaders(encodeHeaders(headers), 10_000)).toEqual(headers);
      }),
    );
  });

  it("ends for any bytes, with headers or a protocol error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeHeaders(bytes, LIMIT);
        } catch (error) {
          expect(error).toBeInstanceOf(Http2ProtocolError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
