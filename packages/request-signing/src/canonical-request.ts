import { createHash } from "node:crypto";
import { SigningError } from "./errors.ts";
import { type SignableRequest, singleHeader } from "./request.ts";

/** Value of `X-Sdk-Content-Sha256` with which a client leaves its body out of the signature. */
export const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD";

/**
 * The text whose hash is signed:
 *
 *     METHOD \n path \n query \n headers \n names of headers \n hash of the body
 *
 * Path segments, names and values are decoded once and encoded anew, since the official clients differ
 * in what they leave raw on the wire and agree on what they sign. The path always ends in a slash here.
 */
export function canonicalRequest(
  request: SignableRequest,
  signedHeaders: readonly string[],
): string {
  const cut = request.target.indexOf("?");
  const path = cut === -1 ? request.target : request.target.slice(0, cut);
  const query = cut === -1 ? "" : request.target.slice(cut + 1);
  const headers = signedHeaders.map((name) => {
    const value = singleHeader(request, name);
    if (value === undefined) throw new SigningError("SIGNING_HEADER_MISSING", name);
    return `${name}:${value}\n`;
  });
  return [
    request.method.toUpperCase(),
    canonicalPath(path),
    canonicalQuery(query),
    headers.join(""),
    signedHeaders.join(";"),
    singleHeader(request, "x-sdk-content-sha256") ?? bodySha256(request),
  ].join("\n");
}

/** Lower-case hex SHA-256 of the body. */
export function bodySha256({ body }: SignableRequest): string {
  return body instanceof Uint8Array ? createHash("sha256").update(body).digest("hex") : body.sha256;
}

function canonicalPath(path: string): string {
  const encoded = path.split("/").map(reencode).join("/");
  return encoded.endsWith("/") ? encoded : `${encoded}/`;
}

function canonicalQuery(query: string): string {
  const pairs = query
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const cut = part.indexOf("=");
      const name = cut === -1 ? part : part.slice(0, cut);
      const value = cut === -1 ? "" : part.slice(cut + 1);
      return [reencode(name), reencode(value)] as const;
    });
  return pairs
    .toSorted((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const PERCENT = 0x25;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * Percent-decodes to bytes, then encodes every byte but the unreserved characters, in upper-case hex.
 * Bytes, not characters: what does not decode to UTF-8 must survive as it is.
 */
function reencode(text: string): string {
  const bytes = Buffer.from(text, "utf8");
  let result = "";
  for (let index = 0; index < bytes.length; index += 1) {
    let byte = bytes[index] ?? 0;
    if (byte === PERCENT) {
      const digits = bytes.toString("latin1", index + 1, index + 3);
      if (!/^[0-9A-Fa-f]{2}$/.test(digits))
        throw new SigningError("SIGNING_TARGET_MALFORMED", text);
      byte = Number.parseInt(digits, 16);
      index += 2;
    }
    const character = String.fromCharCode(byte);
    result += UNRESERVED.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return result;
}
