import { describe, expect, it } from "vitest";
import { decodeHuffman } from "./huffman.ts";

/** Source: RFC 7541, appendix C.4 and C.6. */
const EXAMPLES = [
  ["f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"],
  ["a8eb10649cbf", "no-cache"],
  ["25a849e95ba97d7f", "custom-key"],
  ["25a849e95bb8e8b4bf", "custom-value"],
  ["6402", "302"],
  ["aec3771a4b", "private"],
  ["d07abe941054d444a8200595040b8166e082a62d1bff", "Mon, 21 Oct 2013 20:13:21 GMT"],
  ["9d29ad171863c78f0b97c8e9ae82ae43d3", "https://www.example.com"],
  [
    "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
    "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
  ],
] as const;

describe("decodeHuffman", () => {
  it.each(EXAMPLES)("reads %s of the specification", (hex, text) => {
    expect(decodeHuffman(Buffer.from(hex, "hex")).toString()).toBe(text);
  });

  it("reads nothing", () => {
    expect(decodeHuffman(Buffer.alloc(0))).toHaveLength(0);
  });

  it.each([
    ["padding of eight bits", "6402ff"],
    ["padding that is not of ones", "f1e3c2e5f23a6ba0ab90f4fe"],
    ["the code for the end", "ffffffff"],
  ])("refuses %s", (_, hex) => {
    expect(() => decodeHuffman(Buffer.from(hex, "hex"))).toThrow(
      expect.objectContaining({ code: "COMPRESSION_ERROR" }),
    );
  });
});
