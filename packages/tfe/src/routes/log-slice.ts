const BEGIN = Buffer.from([0x02]);
const END = Buffer.from([0x03]);

/**
 * A part of a log with its frame: a byte in front of the text, and one behind it once it is complete. Offsets count both. Past the
 * present end it is empty.
 */
export async function logSlice(
  text: AsyncGenerator<string, boolean>,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let at = 0;
  const take = (bytes: Buffer): boolean => {
    const from = Math.max(0, offset - at);
    const to = Math.min(bytes.byteLength, offset + limit - at);
    if (from < to) parts.push(bytes.subarray(from, to));
    at += bytes.byteLength;
    return at < offset + limit;
  };
  try {
    if (!take(BEGIN)) return Buffer.concat(parts);
    for (;;) {
      const step = await text.next();
      if (step.done === true) {
        if (step.value) take(END);
        return Buffer.concat(parts);
      }
      if (!take(Buffer.from(step.value))) return Buffer.concat(parts);
    }
  } finally {
    await text.return(false);
  }
}
