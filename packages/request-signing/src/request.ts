import { SigningError } from "./errors.ts";

/** An HTTP request as it goes over the wire; what is signed is this and nothing derived from it. */
export interface SignableRequest {
  readonly method: string;
  /** Path and query as sent, `/v1/private-providers?limit=10`. */
  readonly target: string;
  /** Name and value pairs as sent; names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The bytes of the body, or the lower-case hex SHA-256 of them where they are streamed. */
  readonly body: Uint8Array | { readonly sha256: string };
}

/** A request as a server received it. */
export interface VerifiableRequest extends SignableRequest {
  /**
   * Other spellings of the target which lead to the same resource, and to nothing else: a signature of one of them counts for methods that
   * change nothing. Who gives them answers for that.
   *
   * @default none
   */
  readonly aliases?: readonly string[] | undefined;
}

/**
 * The only value of a header, or `undefined`. A header that occurs twice is refused
 * (`SIGNING_HEADER_REPEATED`): it would be undefined which of the two the application reads.
 */
export function singleHeader(request: SignableRequest, name: string): string | undefined {
  const values = request.headers.filter(([key]) => key.toLowerCase() === name);
  if (values.length > 1) throw new SigningError("SIGNING_HEADER_REPEATED", name);
  return values[0]?.[1].trim();
}
