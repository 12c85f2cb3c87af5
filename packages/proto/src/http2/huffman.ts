import { Http2ProtocolError } from "./error-codes.ts";

/**
 * How many bits each byte takes. The code is canonical, so the lengths define it: codes of a length follow one
 * another in the order of the bytes, and longer ones follow shorter ones. Source: RFC 7541, appendix B.
 */
// biome-ignore format: sixteen to a line, as bytes are looked up
const CODE_BITS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
] as const;

const LONGEST_CODE = 30;
/** Padding is the beginning of the code for the end, which is all ones and must not occur itself. */
const LONGEST_PADDING = 7;

/** Of the codes of each length: the first one, how many there are, and their bytes in order. */
interface CodesOfLength {
  readonly first: number;
  readonly bytes: readonly number[];
}

const CODES: readonly CodesOfLength[] = codesByLength();

function codesByLength(): CodesOfLength[] {
  const codes: CodesOfLength[] = [];
  let next = 0;
  for (let bits = 0; bits <= LONGEST_CODE; bits += 1) {
    next *= 2;
    const bytes = CODE_BITS.flatMap((length, byte) => (length === bits ? [byte] : []));
    codes.push({ first: next, bytes });
    next += bytes.length;
  }
  return codes;
}

/** Decodes a string of a header. Throws COMPRESSION_ERROR for what no encoder writes. */
export function decodeHuffman(input: Uint8Array): Buffer {
  const output = Buffer.allocUnsafe(Math.floor((input.length * 8) / 5));
  let length = 0;
  let code = 0;
  let bits = 0;
  for (const byte of input) {
    for (let mask = 0x80; mask !== 0; mask >>= 1) {
      code = code * 2 + ((byte & mask) === 0 ? 0 : 1);
      bits += 1;
      const { first, bytes } = CODES[bits] as CodesOfLength;
      const decoded = bytes[code - first];
      if (decoded !== undefined) {
        output[length] = decoded;
        length += 1;
        code = 0;
        bits = 0;
      } else if (bits === LONGEST_CODE) {
        throw new Http2ProtocolError(
          "COMPRESSION_ERROR",
          "a header contains the end-of-string code",
        );
      }
    }
  }
  if (bits > LONGEST_PADDING || code !== 2 ** bits - 1) {
    throw new Http2ProtocolError("COMPRESSION_ERROR", "a header is padded in a wrong way");
  }
  return output.subarray(0, length);
}
