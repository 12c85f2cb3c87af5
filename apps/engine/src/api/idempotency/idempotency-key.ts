import { createHash, createHmac } from "node:crypto";
import type { Principal } from "@stackwright/registry";
import { tenancyOf } from "@stackwright/storage";
import type { FastifyRequest } from "fastify";
import type { Place } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { rightsText } from "../rights-text.ts";

/** Characters of a key. */
export const MAX_KEY_CHARACTERS = 128;

/** The header `Idempotency-Key` of a request; undefined without one. */
export function keyOfRequest({ headers }: Pick<FastifyRequest, "headers">): string | undefined {
  const { "idempotency-key": key } = headers;
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= MAX_KEY_CHARACTERS) return key;
  throw new ServerError(
    "invalid_request",
    `Idempotency-Key has 1 to ${MAX_KEY_CHARACTERS} characters`,
  );
}

/** Where the record of a key is: each actor has keys of its own. */
export function recordPlace({ account, actor }: Principal, key: string): Place {
  return {
    tenancy: tenancyOf({ kind: "account", account }),
    name: `${sha256(actor).slice(0, 32)}.${sha256(key)}`,
  };
}

/** Names a credential without being of any use to find it. */
export function credentialDigest({ actor, credential = actor }: Principal): string {
  return sha256(credential);
}

/** Is the same for callers with the same rights. */
export function rightsDigest(principal: Principal): string {
  return sha256(rightsText(principal));
}

/** What tells a request from others: its method, address and body. */
function signatureOf({ method, raw, body }: FastifyRequest): string {
  return [method, raw.url ?? "", JSON.stringify(body)].join("\0");
}

/** The digest of a request whose body has no secrets. */
export function plainDigest(request: FastifyRequest): string {
  return sha256(signatureOf(request));
}

/** The digest of a request that may have secrets: without the key it does not tell which were guessed right. */
export function keyedDigest(request: FastifyRequest, key: Uint8Array): string {
  return createHmac("sha256", key).update(signatureOf(request)).digest("hex");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
