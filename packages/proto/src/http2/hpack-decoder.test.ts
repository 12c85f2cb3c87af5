import { once } from "node:events";
import { connect } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Http2ProtocolError } from "./error-codes.ts";
import { CLIENT_PREFACE, FRAME, LARGEST_FRAME_BYTES, settingsFrame } from "./frame.ts";
import { FrameReader } from "./frame-reader.ts";
import { encodeHeaders, type HeaderList } from "./header-block.ts";
import { HpackDecoder } from "./hpack-decoder.ts";

const LIMIT = 1000;
const decodeHeaders = (block: Uint8Array, limit: number) =>
  new HpackDecoder(0).decode(block, limit);
const decode = (hex: string, limit = LIMIT) => decodeHeaders(Buffer.from(hex, "hex"), limit);

describe("HpackDecoder without a table", () => {
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

/** Source: RFC 7541, appendix C.4 and C.5, the examples with a table of 256 bytes. */
describe("HpackDecoder with a table", () => {
  const inOrder = (blocks: readonly string[], tableBytes: number) => {
    const decoder = new HpackDecoder(tableBytes);
    return blocks.map((hex) => decoder.decode(Buffer.from(hex, "hex"), LIMIT));
  };

  it("refers to what came before", () => {
    const start = [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
    ];
    expect(
      inOrder(
        [
          "828684418cf1e3c2e5f23a6ba0ab90f4ff",
          "828684be5886a8eb10649cbf",
          "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ],
        4096,
      ),
    ).toEqual([
      start,
      [...start, ["cache-control", "no-cache"]],
      [
        [":method", "GET"],
        [":scheme", "https"],
        [":path", "/index.html"],
        [":authority", "www.example.com"],
        ["custom-key", "custom-value"],
      ],
    ]);
  });

  it("drops what does not fit any longer, the oldest first", () => {
    const responses = inOrder(
      [
        "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
        "4803333037c1c0bf",
      ],
      256,
    );
    expect(responses[1]).toEqual([
      [":status", "307"],
      ["cache-control", "private"],
      ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
      ["location", "https://www.example.com"],
    ]);
  });

  it("forgets everything when the table is made empty, and keeps nothing after it", () => {
    const decoder = new HpackDecoder(4096);
    const decodeNext = (hex: string) => decoder.decode(Buffer.from(hex, "hex"), LIMIT);
    decodeNext("400a637573746f6d2d6b65790d637573746f6d2d686561646572");
    expect(decodeNext("be")).toEqual([["custom-key", "custom-header"]]);
    expect(decodeNext("20")).toEqual([]);
    expect(() => decodeNext("be")).toThrow(expect.objectContaining({ code: "COMPRESSION_ERROR" }));
    decodeNext("400a637573746f6d2d6b65790d637573746f6d2d686561646572");
    expect(() => decodeNext("be")).toThrow(expect.objectContaining({ code: "COMPRESSION_ERROR" }));
  });

  it("is emptied by a header that is larger than it", () => {
    const decoder = new HpackDecoder(64);
    const decodeNext = (hex: string) => decoder.decode(Buffer.from(hex, "hex"), LIMIT);
    decodeNext("4001610162");
    expect(decodeNext("be")).toEqual([["a", "b"]]);
    decodeNext(`400161${Buffer.from([40]).toString("hex")}${"63".repeat(40)}`);
    expect(() => decodeNext("be")).toThrow(expect.objectContaining({ code: "COMPRESSION_ERROR" }));
  });

  it("is no larger than was asked for", () => {
    const decoder = new HpackDecoder(64);
    // 65 bytes.
    expect(() => decoder.decode(Buffer.from("3f22", "hex"), LIMIT)).toThrow(
      expect.objectContaining({ code: "COMPRESSION_ERROR" }),
    );
  });

  it("reads what Node's own encoder writes, with the table that it fills", async () => {
    const received: HeaderList[] = [];
    const server = createServer();
    const accepting = once(server, "connection");
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => undefined);
    for (let i = 0; i < 40; i += 1) {
      const request = session.request({
        ":method": "POST",
        ":path": `/path/${i % 3}`,
        "content-type": "application/grpc",
        [`x-${i % 7}`]: `value ${i}`.repeat(i),
      });
      request.on("error", () => undefined);
    }
    const [accepted] = (await accepting) as [Socket];
    const decoder = new HpackDecoder(4096);
    let preface = CLIENT_PREFACE.length;
    const reader = new FrameReader(LARGEST_FRAME_BYTES, (type, _flags, _id, payload) => {
      if (type === FRAME.HEADERS) received.push(decoder.decode(payload, 100_000));
    });
    accepted.on("data", (chunk: Buffer) => {
      const skipped = Math.min(preface, chunk.length);
      preface -= skipped;
      reader.push(chunk.subarray(skipped));
    });
    accepted.write(settingsFrame([]));
    await vi.waitFor(() => expect(received).toHaveLength(40), { timeout: 20_000 });
    accepted.destroy();
    server.close();
    for (const [i, headers] of received.entries()) {
      expect(headers).toContainEqual([":path", `/path/${i % 3}`]);
      expect(headers).toContainEqual([`x-${i % 7}`, `value ${i}`.repeat(i)]);
    }
  });
});
