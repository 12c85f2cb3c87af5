/** Slices of this size go into the compressor, however the input arrives. */
const SLICE_BYTES = 64 * 1024;
const LEVEL = 6;

/** Cuts a stream of bytes into slices of {@link SLICE_BYTES}; only the last one may be shorter. */
async function* slices(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let slice = new Uint8Array(SLICE_BYTES);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + SLICE_BYTES - filled);
      slice.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled === SLICE_BYTES) {
        yield slice;
        slice = new Uint8Array(SLICE_BYTES);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield slice.subarray(0, filled);
}

/**
 * Compresses a stream to raw deflate data that depends on its bytes alone: not on how they are cut
 * into chunks, and not on the machine. The compressor is written in JavaScript for that reason; the
 * zlib that Node brings picks its matches by what the processor offers and changes with releases.
 */
export async function* deflateReproducibly(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  // Its tables are made when it is loaded; of commands only those that write archives need it.
  const { Deflate } = await import("fflate");
  let ready: Uint8Array[] = [];
  const compressor = new Deflate({ level: LEVEL }, (data) => {
    if (data.length > 0) ready.push(data);
  });
  for await (const slice of slices(chunks)) {
    compressor.push(slice, false);
    yield* ready;
    ready = [];
  }
  compressor.push(new Uint8Array(0), true);
  yield* ready;
}
