/** Names and values of headers in order; names are in lower case, values are one character for each byte. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/**
 * Writes headers as literals without indexing, so that a block means the same on every connection and may be kept.
 * Source: RFC 7541, section 6.2.2.
 */
export function encodeHeaders(headers: HeaderList): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [LITERAL, text(name), text(value)]));
}

const LITERAL = Buffer.from([0x00]);

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([integer(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits, of which the bit above is zero: not Huffman-coded. */
function integer(value: number): Buffer {
  if (value < 0x7f) return Buffer.from([value]);
  const bytes = [0x7f];
  let rest = value - 0x7f;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
