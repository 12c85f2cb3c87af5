import type { TfeLogText } from "../port/run-port.ts";

const BEGIN = Buffer.from([0x02]);
const END = Buffer.from([0x03]);

/**
 * A part of a log with its frame: a byte in front of the text, and one behind it once it is complete. Offsets count both. Past the
 * present end it is empty. The text is asked for from an offset of its own.
 */
export async function logSlice(
  open: (offset: number) => Promise<TfeLogText>,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<Buffer> {
  const { from: start, text } = await open(Math.max(0, offset - BEGIN.byteLength));
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
    at += start;
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
