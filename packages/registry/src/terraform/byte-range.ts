/** A part of a file: first byte and length. */
interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

const SINGLE = /^bytes=(?:([0-9]{1,15})-([0-9]{0,15})|-([0-9]{1,15}))$/;

/**
 * Which part of a file a `Range` header asks for: one range, or `undefined` where the whole is to be
 * given (no header, several ranges, another unit), or `"unsatisfiable"`.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const match = header === undefined ? null : SINGLE.exec(header);
  if (match === null) return undefined;
  const [, first, last = "", suffix] = match;
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? "unsatisfiable" : { offset: size - length, length };
  }
  const offset = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (offset >= size) return "unsatisfiable";
  // A range that ends before it begins is none, and ignored.
  return end < offset ? undefined : { offset, length: end - offset + 1 };
}
