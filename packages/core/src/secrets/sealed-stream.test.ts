import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { openStream, sealStream } from "./sealed-stream.ts";
import { createStackCipher } from "./stack-cipher.ts";

const PART = 256 * 1024;
const cipher = createStackCipher([{ number: 1, bytes: randomBytes(32) }]);

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function seal(plain: Uint8Array, size = 10_000): Promise<Buffer> {
  return all(sealStream(cipher, chunksOf(plain, size), "place"));
}

async function open(sealed: Uint8Array, context = "place", size = 7_001): Promise<Buffer> {
  return all(openStream(cipher, chunksOf(sealed, size), context));
}

/** Where the parts of sealed bytes begin, and the end. */
function partsOf(sealed: Buffer): number[] {
  const starts: number[] = [];
  let at = 17;
  for (; at < sealed.length; at += 4 + (sealed.readUInt32BE(at) & 0x7fffffff)) starts.push(at);
  return [...starts, at];
}

it.each([0, 1, PART - 1, PART, PART + 1, 3 * PART])(
  "gives back %d bytes as they were",
  async (size) => {
    const plain = randomBytes(size);
    const sealed = await seal(plain);
    expect(size >= 64 && sealed.includes(plain.subarray(0, 64))).toBe(false);
    expect((await open(sealed)).equals(plain)).toBe(true);
  },
);

it.each([1, 16, 17, 18, 20, 21, 60])("refuses what is cut off by %d bytes", async (missing) => {
  const sealed = await seal(randomBytes(100));
  await expect(open(sealed.subarray(0, sealed.length - missing))).rejects.toMatchObject({
    code: "ENGINE_STATE_CORRUPT",
  });
});

it("refuses parts that were left out, exchanged, repeated, or cut off between two of them", async () => {
  const sealed = await seal(randomBytes(3 * PART));
  const at = partsOf(sealed);
  expect(at).toHaveLength(4);
  const piece = (index: number): Buffer => sealed.subarray(at[index], at[index + 1]);
  const head = sealed.subarray(0, 17);
  const orders = [[0, 2], [1, 0, 2], [0, 0, 1, 2], [0, 1], [0, 1, 2, 2], []];
  for (const order of orders) {
    const changed = Buffer.concat([head, ...order.map(piece)]);
    await expect(open(changed)).rejects.toMatchObject({ code: "ENGINE_STATE_CORRUPT" });
  }
  expect(await open(Buffer.concat([head, ...[0, 1, 2].map(piece)]))).toHaveLength(3 * PART);
});

it("refuses the parts of another stream, and another place", async () => {
  const [one, other] = [await seal(randomBytes(100)), await seal(randomBytes(100))];
  const mixed = Buffer.concat([one.subarray(0, 17), other.subarray(17)]);
  await expect(open(mixed)).rejects.toMatchObject({ code: "ENGINE_STATE_CORRUPT" });
  await expect(open(one, "elsewhere")).rejects.toMatchObject({ code: "ENGINE_STATE_CORRUPT" });
});

it("refuses each changed byte", async () => {
  const sealed = await seal(randomBytes(20));
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    await expect(open(changed)).rejects.toThrow();
  }
});

it("ends the content that it reads when its own reader stops", async () => {
  let isEnded = false;
  async function* source(bytes: Uint8Array) {
    try {
      yield* chunksOf(bytes, 1_000);
    } finally {
      isEnded = true;
    }
  }
  const sealed = await seal(randomBytes(3 * PART));
  for await (const part of openStream(cipher, source(sealed), "place")) {
    expect(part).toHaveLength(PART);
    break;
  }
  expect(isEnded).toBe(true);
});
