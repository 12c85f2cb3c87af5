import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frameMessage, MessageReader } from "./message-reader.ts";

function read(
  chunks: readonly Buffer[],
  limit = 1000,
): { messages: string[]; reader: MessageReader } {
  const messages: string[] = [];
  const reader = new MessageReader(limit, "INTERNAL");
  for (const chunk of chunks)
    reader.push(chunk, (message) => messages.push(message.toString("hex")));
  return { messages, reader };
}

describe("MessageReader", () => {
  it("cuts the same messages out of bytes however they are split", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
        (given, sizes) => {
          const bytes = Buffer.concat(given.map(frameMessage));
          const chunks: Buffer[] = [];
          for (let offset = 0; offset < bytes.length; ) {
            const size = sizes.next().value as number;
            chunks.push(bytes.subarray(offset, offset + size));
            offset += size;
          }
          const { messages, reader } = read(chunks);
          expect(messages).toEqual(given.map((message) => Buffer.from(message).toString("hex")));
          expect(reader.isOpen).toBe(false);
          expect(reader.missingBytes).toBe(0);
        },
      ),
    );
  });

  it("says what a message that has begun still needs", () => {
    const bytes = frameMessage(Buffer.alloc(100));
    expect(read([bytes.subarray(0, 4)]).reader.missingBytes).toBe(0);
    expect(read([bytes.subarray(0, 5)]).reader.missingBytes).toBe(100);
    expect(read([bytes.subarray(0, 25)]).reader.missingBytes).toBe(80);
  });

  it("takes a message of the limit, and refuses one above it by its length", () => {
    expect(read([frameMessage(Buffer.alloc(1000))]).messages).toHaveLength(1);
    expect(() => read([frameMessage(Buffer.alloc(1001)).subarray(0, 5)])).toThrow(
      expect.objectContaining({ code: "RESOURCE_EXHAUSTED" }),
    );
  });
});
