import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameReader } from "./frame-reader.ts";
import { frame } from "./testing/scripted-server.ts";

function read(chunks: readonly Buffer[], frameBytes = 100): string[] {
  const seen: string[] = [];
  const reader = new FrameReader(frameBytes, (type, flags, id, payload) => {
    seen.push(`${type} ${flags} ${id} ${payload.toString("hex")}`);
  });
  for (const chunk of chunks) reader.push(chunk);
  return seen;
}

describe("FrameReader", () => {
  it("cuts the same frames out of bytes however they are split", () => {
    const frames = fc.array(
      fc.record({
        type: fc.nat(255),
        flags: fc.nat(255),
        id: fc.nat(2 ** 31 - 1),
        payload: fc.uint8Array({ maxLength: 100 }),
      }),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(frames, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (given, sizes) => {
        const bytes = Buffer.concat(
          given.map(({ type, flags, id, payload }) => frame(type, flags, id, payload)),
        );
        const chunks: Buffer[] = [];
        for (let offset = 0; offset < bytes.length; ) {
          const size = sizes.next().value as number;
          chunks.push(bytes.subarray(offset, offset + size));
          offset += size;
        }
        expect(read(chunks)).toEqual(read([bytes]));
        expect(read(chunks)).toHaveLength(given.length);
      }),
    );
  });

  it("takes a frame of the limit, and refuses one above it before its payload comes", () => {
    expect(read([frame(0, 0, 1, Buffer.alloc(100))])).toHaveLength(1);
    expect(() => read([frame(0, 0, 1, Buffer.alloc(101)).subarray(0, 9)])).toThrow(
      expect.objectContaining({ code: "FRAME_SIZE_ERROR" }),
    );
  });

  it("ignores the reserved bit of a stream's id", () => {
    expect(read([frame(0, 0, 0x80000001)])).toEqual(["0 0 1 "]);
  });
});
