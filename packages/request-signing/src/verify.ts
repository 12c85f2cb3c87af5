import { randomBytes, timingSafeEqual } from "node:crypto";
import { parseSignatureHeader, type SignatureHeader } from "./authorization-header.ts";
import { bodySha256, canonicalRequest, UNSIGNED_PAYLOAD } from "./canonical-request.ts";
import { SigningError } from "./errors.ts";
import { createMemoryReplayGuard, type ReplayGuard } from "./replay-guard.ts";
import { type SignableRequest, singleHeader, type VerifiableRequest } from "./request.ts";
import { parseSdkDate } from "./sdk-date.ts";
import { computeSignature, type DerivedScope, type SignatureInput } from "./signature.ts";

export interface VerifierOptions {
  /**
   * The secret of an access key; `undefined` for keys that do not exist or may not be used. An empty
   * secret counts as none.
   */
  readonly secretFor: (accessKey: string) => string | undefined | Promise<string | undefined>;
  /** Milliseconds since the Unix epoch. @default Date.now */
  readonly now?: () => number;
  /** How far `X-Sdk-Date` may be from the present, either way, the bound included. @default 900_000 */
  readonly maxSkewMs?: number;
  /** @default a guard in memory */
  readonly replayGuard?: ReplayGuard;
  /**
   * Header names that every request must have signed. `x-sdk-date` always is. The Go client does not
   * sign `host`, so adding it here locks that client out. @default []
   */
  readonly requireSigned?: readonly string[];
  /** Regions and services whose derived keys (V11-HMAC-SHA256) are accepted. @default [] */
  readonly derivedScopes?: readonly DerivedScope[];
  /**
   * Whether a body that is not JSON may be left out of the signature, as some clients do for uploads.
   * @default false
   */
  readonly allowUnsignedPayload?: boolean;
}

/** What a signature proved. Headers outside `signedHeaders` were not: do not trust them. */
export interface VerifiedRequest {
  readonly accessKey: string;
  readonly signedHeaders: ReadonlySet<string>;
  /** When the client says that it signed, in milliseconds since the Unix epoch. */
  readonly signedAtMs: number;
}

export interface Verifier {
  /** Resolves with what was proved, rejects with a {@link SigningError}. */
  verify(request: VerifiableRequest): Promise<VerifiedRequest>;
}

/** Methods that change nothing, and may therefore be repeated by any client within the skew. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/** Signs for keys that do not exist, so that their refusal takes as long as that of a wrong secret. */
const DECOY_SECRET = randomBytes(32).toString("hex");

/**
 * Makes a verifier of SDK-HMAC-SHA256 and V11-HMAC-SHA256 signatures. Bound by an accepted signature:
 * method, path, query, the signed headers, the body, and the date. Every use but those of safe methods
 * is accepted once.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { now = Date.now, maxSkewMs = 900_000 } = options;
  const replayGuard = options.replayGuard ?? createMemoryReplayGuard({ now });
  const required = ["x-sdk-date", ...(options.requireSigned ?? [])];

  return {
    async verify(request) {
      const authorization = singleHeader(request, "authorization");
      if (authorization === undefined) throw new SigningError("SIGNING_AUTHORIZATION_MISSING");
      const header = parseSignatureHeader(authorization);
      const unsigned = required.find((name) => !header.signedHeaders.includes(name));
      if (unsigned !== undefined) throw new SigningError("SIGNING_HEADER_NOT_SIGNED", unsigned);

      const date = singleHeader(request, "x-sdk-date") ?? "";
      const signedAtMs = parseSdkDate(date);
      if (signedAtMs === undefined) throw new SigningError("SIGNING_DATE_MALFORMED");
      if (Math.abs(now() - signedAtMs) > maxSkewMs) throw new SigningError("SIGNING_DATE_SKEWED");

      checkScope(header, date, options.derivedScopes ?? []);
      checkPayload(request, header, options.allowUnsignedPayload ?? false);

      const { accessKey, signature, derived } = header;
      const secret = await options.secretFor(accessKey);
      const isSafe = SAFE_METHODS.has(request.method.toUpperCase());
      // All are compared, whichever matches.
      const matches = [request.target, ...((isSafe && request.aliases) || [])].map((target) => {
        const input: SignatureInput = {
          accessKey,
          date,
          canonicalRequest: canonicalRequest({ ...request, target }, header.signedHeaders),
          ...(derived && { scope: derived }),
        };
        // For a key that does not exist the comparison only takes the same time.
        return isSignature(computeSignature(secret || DECOY_SECRET, input), signature);
      });
      if (secret === undefined || secret === "" || !matches.includes(true)) {
        throw new SigningError("SIGNING_MISMATCH");
      }

      if (!isSafe) {
        const use = { accessKey, signature, expiresAtMs: signedAtMs + maxSkewMs };
        if (!(await replayGuard.firstUse(use))) throw new SigningError("SIGNING_REPLAYED");
      }
      return { accessKey, signedHeaders: new Set(header.signedHeaders), signedAtMs };
    },
  };
}

function isSignature(expected: string, given: string): boolean {
  return timingSafeEqual(Buffer.from(expected, "latin1"), Buffer.from(given, "latin1"));
}

function checkScope(
  header: SignatureHeader,
  date: string,
  accepted: readonly DerivedScope[],
): void {
  const { derived } = header;
  if (derived === undefined) return;
  const known = accepted.some(
    ({ region, service }) => region === derived.region && service === derived.service,
  );
  if (!known || derived.day !== date.slice(0, 8)) throw new SigningError("SIGNING_SCOPE_REFUSED");
}

/**
 * `X-Sdk-Content-Sha256` replaces the hash of the body in what is signed. It is therefore only accepted
 * where it says the truth, or where an unsigned body is allowed and the header itself is signed.
 */
function checkPayload(request: SignableRequest, header: SignatureHeader, allowUnsigned: boolean) {
  const claimed = singleHeader(request, "x-sdk-content-sha256");
  if (claimed === undefined || claimed === bodySha256(request)) return;
  const isJson = /\bjson\b/i.test(singleHeader(request, "content-type") ?? "json");
  const isSigned = header.signedHeaders.includes("x-sdk-content-sha256");
  if (claimed !== UNSIGNED_PAYLOAD || !allowUnsigned || isJson || !isSigned) {
    throw new SigningError("SIGNING_PAYLOAD_UNSIGNED");
  }
}
