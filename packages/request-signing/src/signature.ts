import { createHash, createHmac, hkdfSync } from "node:crypto";

/** With the secret itself, or with a key derived from it for one day, region and service. */
export type SigningAlgorithm = "SDK-HMAC-SHA256" | "V11-HMAC-SHA256";

/** What a derived key is good for. */
export interface DerivedScope {
  readonly region: string;
  readonly service: string;
}

/** Everything that the signature is computed from, besides the secret. */
export interface SignatureInput {
  readonly accessKey: string;
  /** As in `X-Sdk-Date`. */
  readonly date: string;
  readonly canonicalRequest: string;
  /** Present: V11-HMAC-SHA256. */
  readonly scope?: DerivedScope;
}

/** `YYYYMMDD/region/service`, the line that ties a derived key to its use. */
function derivationInfo(date: string, scope: DerivedScope): string {
  return `${date.slice(0, 8)}/${scope.region}/${scope.service}`;
}

/** The text that goes into the HMAC. */
export function stringToSign({ date, canonicalRequest, scope }: SignatureInput): string {
  const hash = createHash("sha256").update(canonicalRequest, "utf8").digest("hex");
  return scope === undefined
    ? `SDK-HMAC-SHA256\n${date}\n${hash}`
    : `V11-HMAC-SHA256\n${date}\n${derivationInfo(date, scope)}\n${hash}`;
}

/** The key of the derived form: the hex digits themselves are the key, not the bytes they stand for. */
function deriveKey(secret: string, accessKey: string, info: string): string {
  return Buffer.from(hkdfSync("sha256", secret, accessKey, info, 32)).toString("hex");
}

/** 64 lower-case hex digits. */
export function computeSignature(secret: string, input: SignatureInput): string {
  const key =
    input.scope === undefined
      ? secret
      : deriveKey(secret, input.accessKey, derivationInfo(input.date, input.scope));
  return createHmac("sha256", key).update(stringToSign(input), "utf8").digest("hex");
}
