import { domainToASCII, domainToUnicode } from "node:url";

/**
 * Host names and the parts of provider addresses follow the lookup profile of IDNA (UTS #46,
 * non-transitional, STD3 rules, hyphen, joiner and bidi checks), as the command applies it.
 *
 * Node brings the mapping, the joiner checks, and the bidi check of single labels. Added here:
 *
 * - Only letters, digits and dashes of ASCII may come out (STD3). A URL's host allows more.
 * - Dashes may not stand first, last, or third and fourth in a label.
 * - Next to a label written from right to left each label must start with a letter and end with a
 *   letter or digit, or parts of it would be shown in other places (RFC 5893, rules 1 and 6). Node
 *   does not check such neighbours.
 * - What Node gives is the host parser of URLs, which reads a name whose last label is a number as
 *   an IPv4 address ("１" would become "0.0.0.1"). A label of letters behind the name prevents it;
 *   being plain left-to-right it leaves the bidi check of the other labels as it is.
 */
const GUARD = ".a";

const ASCII_ONLY = /^[\0-\x7f]*$/;
const ASCII_LABELS = /^[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*$/;

/** ASCII outside letters, digits, dashes and the dots between labels. */
const ASCII_OUTSIDE_LDH = /[\0-,/:-@[-`{-\x7f]/;

/** The blocks of scripts that are written from right to left. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Digits of most scripts count as letters in this; those of ASCII and Persian do not. */
const LEGAL_NEIGHBOUR = /^(?![0-9\u06f0-\u06f9])[\p{L}\p{Nd}](?:.*[\p{L}\p{Nd}])?\p{M}*$/u;

/** U+2260, U+226E, U+226F decompose to ASCII signs, which the STD3 rules refuse. */
const DECOMPOSES_TO_ASCII_SIGN = /[\u2260\u226e\u226f]/;

function hasLegalHyphens(label: string): boolean {
  return (
    !label.startsWith("-") &&
    !label.endsWith("-") &&
    !(label.length > 4 && label[2] === "-" && label[3] === "-")
  );
}

/** The Unicode form of a name that {@link toAsciiName} made. */
export function toUnicodeName(ascii: string): string {
  if (!ascii.includes("xn--")) return ascii;
  const trailingDot = ascii.endsWith(".") ? "." : "";
  const name = trailingDot === "" ? ascii : ascii.slice(0, -1);
  return domainToUnicode(name + GUARD).slice(0, -GUARD.length) + trailingDot;
}

/**
 * Maps a name of one or more labels to its ASCII (punycode) form in lower case, without the port.
 * Undefined if the name is not valid. Never throws.
 */
export function toAsciiName(name: string): string | undefined {
  if (ASCII_ONLY.test(name)) {
    if (!ASCII_LABELS.test(name)) return undefined;
    const lower = name.toLowerCase();
    const labels = lower.split(".");
    // A label in punycode is checked, and put into its one canonical form, by the mapping below.
    if (!labels.some((label) => label.startsWith("xn--"))) {
      return labels.every(hasLegalHyphens) ? lower : undefined;
    }
  }
  if (ASCII_OUTSIDE_LDH.test(name) || DECOMPOSES_TO_ASCII_SIGN.test(name)) return undefined;
  const ascii = domainToASCII(name + GUARD);
  if (!ascii.endsWith(GUARD)) return undefined;
  const mapped = ascii.slice(0, -GUARD.length);
  if (!ASCII_LABELS.test(mapped)) return undefined;
  const unicode = toUnicodeName(mapped);
  if (ASCII_OUTSIDE_LDH.test(unicode) || DECOMPOSES_TO_ASCII_SIGN.test(unicode)) return undefined;
  const labels = unicode.split(".");
  if (RIGHT_TO_LEFT.test(unicode)) {
    const neighbours = labels.filter((label) => !RIGHT_TO_LEFT.test(label));
    if (!neighbours.every((label) => LEGAL_NEIGHBOUR.test(label))) return undefined;
  }
  return labels.every(hasLegalHyphens) ? mapped : undefined;
}
