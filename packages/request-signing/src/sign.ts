import { formatSignatureHeader } from "./authorization-header.ts";
import { canonicalRequest } from "./canonical-request.ts";
import { SigningError } from "./errors.ts";
import type { SignableRequest } from "./request.ts";
import { formatSdkDate } from "./sdk-date.ts";
import { computeSignature, type DerivedScope } from "./signature.ts";

/** An access key with its secret, and the token that goes with temporary ones. */
export interface SigningCredentials {
  readonly accessKey: string;
  readonly secretKey: string;
  /** Sent as `X-Security-Token`. */
  readonly securityToken?: string;
}

export interface SignOptions {
  /** Milliseconds since the Unix epoch. @default the present */
  readonly timeMs?: number;
  /** Sign with a key derived for this region and service (V11-HMAC-SHA256). */
  readonly scope?: DerivedScope;
  /** Lower-case names that are sent and not signed. @default {@link UNSIGNED_HEADERS} */
  readonly unsignedHeaders?: readonly string[];
}

/** Headers that proxies and HTTP libraries change or add on the way. */
export const UNSIGNED_HEADERS: readonly string[] = [
  "accept",
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "te",
  "transfer-encoding",
  "user-agent",
];

/**
 * Signs a request: returns its headers with `X-Sdk-Date`, `X-Security-Token` (for temporary
 * credentials) and `Authorization` added. Every header of the request is signed except the unsigned
 * ones; give `host` among the headers, so that the request cannot be sent to another server.
 *
 * Source: the signing of the public clients of the service, as recorded on the wire.
 */
export function signRequest(
  request: SignableRequest,
  credentials: SigningCredentials,
  options: SignOptions = {},
): [name: string, value: string][] {
  const { accessKey, secretKey, securityToken } = credentials;
  if (!/^[^\s,/]+$/.test(accessKey) || secretKey === "") {
    throw new SigningError("SIGNING_CREDENTIALS_INVALID");
  }
  const date = formatSdkDate(options.timeMs ?? Date.now());
  const replaced = ["authorization", "x-sdk-date", "x-security-token"];
  const headers: [string, string][] = [
    ...request.headers
      .filter(([name]) => !replaced.includes(name.toLowerCase()))
      .map(([name, value]): [string, string] => [name, value]),
    ["X-Sdk-Date", date],
  ];
  if (securityToken !== undefined) headers.push(["X-Security-Token", securityToken]);

  const unsigned = options.unsignedHeaders ?? UNSIGNED_HEADERS;
  const signedHeaders = [...new Set(headers.map(([name]) => name.toLowerCase()))]
    .filter((name) => !unsigned.includes(name))
    .toSorted();
  const { scope } = options;
  const signature = computeSignature(secretKey, {
    accessKey,
    date,
    canonicalRequest: canonicalRequest({ ...request, headers }, signedHeaders),
    ...(scope && { scope }),
  });
  const derived = scope && { day: date.slice(0, 8), region: scope.region, service: scope.service };
  headers.push([
    "Authorization",
    formatSignatureHeader({ accessKey, signedHeaders, signature, ...(derived && { derived }) }),
  ]);
  return headers;
}
