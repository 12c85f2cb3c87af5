import type { Readable, Writable } from "node:stream";

/** Bytes of one frame; a longer one is an error of the protocol. */
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const HEAD_BYTES = 4;

/** Writes one message: its length in four bytes, big endian, then JSON. Resolves when the pipe takes more. */
export async function writeFrame(stream: Writable, message: unknown): Promise<void> {
  const content = Buffer.from(JSON.stringify(message));
  if (content.length > MAX_FRAME_BYTES) throw new RangeError("a frame is too large");
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(content.length);
  if (stream.write(Buffer.concat([head, content]))) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off("drain", done).off("close", done).off("error", done);
      resolve();
    };
    stream.on("drain", done).on("close", done).on("error", done);
  });
}

/** The messages of a pipe until it ends. Throws for what is no frame. */
export async function* readFrames(stream: Readable): AsyncGenerator {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const length = rest.readUInt32BE();
      if (length > MAX_FRAME_BYTES) throw new RangeError("a frame is too large");
      if (rest.length < HEAD_BYTES + length) break;
      yield JSON.parse(rest.toString("utf8", HEAD_BYTES, HEAD_BYTES + length));
      rest = rest.subarray(HEAD_BYTES + length);
    }
  }
}
