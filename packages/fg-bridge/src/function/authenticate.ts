import { createHash, timingSafeEqual } from "node:crypto";
import {
  createVerifier,
  type SignableRequest,
  type VerifierOptions,
} from "@stackwright/request-signing";
import { FgBridgeError } from "../errors.ts";

/** Authenticates a request: returns the caller's name, or throws. */
export type FunctionAuthenticator = (request: SignableRequest) => Promise<string>;

/** Requests must carry a signature with an access key. The caller is the key. */
export function authenticateSignature(options: VerifierOptions): FunctionAuthenticator {
  // The body decides what is done, and the host where: both have to be signed.
  const verifier = createVerifier({ requireSigned: ["host"], ...options });
  return async (request) => (await verifier.verify(request)).accessKey;
}

/** Requests must carry one of these tokens. The caller is the name of the token. */
export function authenticateBearer(
  tokens: Readonly<Record<string, string>>,
): FunctionAuthenticator {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const known = Object.entries(tokens).map(([caller, token]) => ({ caller, hash: digest(token) }));
  return async ({ headers }) => {
    const values = headers.filter(([name]) => name.toLowerCase() === "authorization");
    const given = digest(/^Bearer (\S+)$/.exec(values[0]?.[1] ?? "")?.[1] ?? "");
    const found = known.filter(({ hash }) => timingSafeEqual(hash, given));
    const [first] = found;
    if (first === undefined || values.length !== 1) {
      throw new FgBridgeError("FG_UNAUTHORIZED", "the token is not known");
    }
    return first.caller;
  };
}
