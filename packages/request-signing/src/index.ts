export type { SignatureHeader } from "./authorization-header.ts";
export {
  formatSignatureHeader,
  isSignatureHeader,
  parseSignatureHeader,
} from "./authorization-header.ts";
export { canonicalRequest, UNSIGNED_PAYLOAD } from "./canonical-request.ts";
export type { SigningErrorCode } from "./errors.ts";
export { SigningError } from "./errors.ts";
export type { MemoryReplayGuardOptions, ReplayGuard, SignatureUse } from "./replay-guard.ts";
export { createMemoryReplayGuard } from "./replay-guard.ts";
export type { SignableRequest, VerifiableRequest } from "./request.ts";
export { formatSdkDate, parseSdkDate } from "./sdk-date.ts";
export type { SigningCredentials, SignOptions } from "./sign.ts";
export { signRequest, UNSIGNED_HEADERS } from "./sign.ts";
export type { DerivedScope, SignatureInput, SigningAlgorithm } from "./signature.ts";
export { computeSignature, stringToSign } from "./signature.ts";
export type { VerifiedRequest, Verifier, VerifierOptions } from "./verify.ts";
export { createVerifier } from "./verify.ts";
