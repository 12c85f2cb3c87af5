// A ULID has 128 bits, and 16 letters and digits have 95: of the random part the last 47 are in the id. Those of one process count up there, and
// ids of two processes that are of the same millisecond differ there but for one in 2^47.

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const ULID_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_LETTERS = 10;
const TIME_BITS = 48n;
const TAIL_BITS = 47n;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 16;
const SHORT = new RegExp(`^[0-9A-Za-z]{${LENGTH}}$`);

/**
 * The id of a workspace as clients read it: `ws-` and 16 letters and digits, as the provider `hashicorp/tfe` takes no others. It is made of the
 * ULID by which the server knows the workspace; any other text is in it as it is.
 */
export function workspaceId(id: string): `ws-${string}` {
  return `ws-${shortForm(id)}`;
}

/** What is known of a ULID by its short form. */
interface ShortenedUlid {
  /** What it begins with: its time. Few have the same. */
  readonly start: string;
  /** Whether a ULID has this short form. */
  readonly matches: (ulid: string) => boolean;
}

/** Reads what {@link workspaceId} has behind `ws-`; undefined for what is not the short form of a ULID. */
export function readShortUlid(text: string): ShortenedUlid | undefined {
  if (!SHORT.test(text)) return undefined;
  const time = fromDigits(text, ALPHABET) >> TAIL_BITS;
  if (time >> TIME_BITS !== 0n) return undefined;
  return {
    start: toDigits(time, ULID_ALPHABET, TIME_LETTERS),
    matches: (ulid) => ULID.test(ulid) && shortForm(ulid) === text,
  };
}

function shortForm(id: string): string {
  if (!ULID.test(id)) return id;
  const time = fromDigits(id.slice(0, TIME_LETTERS), ULID_ALPHABET);
  const tail = BigInt.asUintN(Number(TAIL_BITS), fromDigits(id, ULID_ALPHABET));
  return toDigits((time << TAIL_BITS) | tail, ALPHABET, LENGTH);
}

function fromDigits(text: string, alphabet: string): bigint {
  const base = BigInt(alphabet.length);
  let value = 0n;
  for (const letter of text) value = value * base + BigInt(alphabet.indexOf(letter));
  return value;
}

function toDigits(value: bigint, alphabet: string, length: number): string {
  const base = BigInt(alphabet.length);
  let text = "";
  for (let rest = value; text.length < length; rest /= base) {
    text = (alphabet[Number(rest % base)] ?? "0") + text;
  }
  return text;
}
