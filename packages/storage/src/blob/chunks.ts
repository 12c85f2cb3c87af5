import type { BlobContent } from "./types.ts";

/**
 * Cuts a content into chunks of one size; the last one may be shorter. The chunks share no bytes
 * with the content, whose writer may use its buffers again.
 */
export async function* cutChunks(
  content: BlobContent,
  chunkBytes: number,
): AsyncGenerator<Uint8Array> {
  const pieces = content instanceof Uint8Array ? [content] : content;
  let chunk = new Uint8Array(chunkBytes);
  let filled = 0;
  for await (const piece of pieces) {
    for (let taken = 0; taken < piece.length; ) {
      const part = piece.subarray(taken, taken + chunkBytes - filled);
      chunk.set(part, filled);
      filled += part.length;
      taken += part.length;
      if (filled < chunkBytes) continue;
      yield chunk;
      chunk = new Uint8Array(chunkBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
