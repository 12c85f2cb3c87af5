import { SigningError } from "./errors.ts";
import type { DerivedScope } from "./signature.ts";

/** The parts of an `Authorization` header that carries a signature. */
export interface SignatureHeader {
  readonly accessKey: string;
  /** Lower case, ascending, each once. */
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** Present in the derived form, with the day that the key is for (`YYYYMMDD`). */
  readonly derived?: DerivedScope & { readonly day: string };
}

const FORM =
  /^(Access|Credential)=([^,\s]+), SignedHeaders=([a-z0-9!#$%&'*+.^_`|~;-]+), Signature=([0-9a-f]{64})$/;

/** Whether an `Authorization` header claims to be a signature of this family at all. */
export function isSignatureHeader(value: string): boolean {
  return /^(SDK|V11)-HMAC-/.test(value);
}

/** Writes the header as the official clients do. */
export function formatSignatureHeader(header: SignatureHeader): string {
  const { accessKey, derived, signedHeaders, signature } = header;
  const rest = `SignedHeaders=${signedHeaders.join(";")}, Signature=${signature}`;
  return derived === undefined
    ? `SDK-HMAC-SHA256 Access=${accessKey}, ${rest}`
    : `V11-HMAC-SHA256 Credential=${accessKey}/${derived.day}/${derived.region}/${derived.service}, ${rest}`;
}

/**
 * Takes the header apart. Exactly the form that clients send is accepted: one blank after each comma,
 * lower-case hex, names ascending and distinct.
 */
export function parseSignatureHeader(value: string): SignatureHeader {
  const cut = value.indexOf(" ");
  const algorithm = cut === -1 ? value : value.slice(0, cut);
  if (algorithm !== "SDK-HMAC-SHA256" && algorithm !== "V11-HMAC-SHA256") {
    throw new SigningError("SIGNING_ALGORITHM_UNKNOWN");
  }
  const [, key, identity = "", names = "", signature = ""] = FORM.exec(value.slice(cut + 1)) ?? [];
  const isDerived = algorithm === "V11-HMAC-SHA256";
  if (key !== (isDerived ? "Credential" : "Access")) {
    throw new SigningError("SIGNING_AUTHORIZATION_MALFORMED");
  }
  const signedHeaders = names.split(";");
  if (
    signedHeaders.some((name, index) => name === "" || name <= (signedHeaders[index - 1] ?? ""))
  ) {
    throw new SigningError("SIGNING_AUTHORIZATION_MALFORMED", "SignedHeaders is not a sorted list");
  }
  if (!isDerived) return { accessKey: identity, signedHeaders, signature };
  const [accessKey = "", day = "", region = "", service = "", ...rest] = identity.split("/");
  if (service === "" || region === "" || !/^\d{8}$/.test(day) || rest.length > 0) {
    throw new SigningError("SIGNING_AUTHORIZATION_MALFORMED", "Credential");
  }
  return { accessKey, signedHeaders, signature, derived: { day, region, service } };
}
