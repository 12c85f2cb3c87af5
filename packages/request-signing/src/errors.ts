/**
 * Every way in which a signature is refused. All of them are 401 for the caller over HTTP, who learns
 * no more than that; the code is for logs and audit.
 */
const CODES = {
  SIGNING_AUTHORIZATION_MISSING: "there is no Authorization header",
  SIGNING_AUTHORIZATION_MALFORMED: "the Authorization header does not have the form of a signature",
  SIGNING_ALGORITHM_UNKNOWN: "the algorithm is not supported",
  SIGNING_SCOPE_REFUSED: "the derived key is for a date, region or service that is not accepted",
  SIGNING_DATE_MALFORMED: "X-Sdk-Date is missing or is not of the form YYYYMMDDTHHMMSSZ",
  SIGNING_DATE_SKEWED: "X-Sdk-Date is too far from the present time",
  SIGNING_HEADER_NOT_SIGNED: "a header that must be signed is not",
  SIGNING_HEADER_MISSING: "a header named in SignedHeaders is absent",
  SIGNING_HEADER_REPEATED: "a header that must occur once occurs several times",
  SIGNING_PAYLOAD_UNSIGNED: "the body is not covered by the signature",
  SIGNING_TARGET_MALFORMED: "the request target holds a percent sign that encodes nothing",
  SIGNING_MISMATCH: "unknown access key or wrong signature",
  SIGNING_REPLAYED: "this signature was already used",
  SIGNING_REPLAY_GUARD_FULL: "too many signatures are remembered for this access key",
  SIGNING_CREDENTIALS_INVALID: "the credentials cannot be used to sign",
} as const;

export type SigningErrorCode = keyof typeof CODES;

/** A request that cannot be signed, or whose signature is refused. */
export class SigningError extends Error {
  override readonly name = "SigningError";
  readonly code: SigningErrorCode;
  /** Whether the same request may be accepted later without being changed. */
  readonly retryable: boolean;

  constructor(code: SigningErrorCode, detail?: string) {
    super(detail === undefined ? CODES[code] : `${CODES[code]}: ${detail}`);
    this.code = code;
    this.retryable = code === "SIGNING_REPLAY_GUARD_FULL";
  }
}
