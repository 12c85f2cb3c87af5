import { createHmac, timingSafeEqual } from "node:crypto";
import { TfeError } from "./errors.ts";

const TAG_BYTES = 32;

// Commands send no token when they upload and download: such an address carries the permission. It names one object for one
// method, when it ends, and on whose behalf it was made. It is in the path, as readers of logs replace the query.

/** Makes the part of an address that carries the permission. */
export function signAddress(key: Uint8Array, target: object, expiresMs: number): string {
  const payload = JSON.stringify([Math.floor(expiresMs), target]);
  return `${Buffer.from(payload).toString("base64url")}.${tagOf(key, payload).toString("base64url")}`;
}

/** Reads that part. `TFE_FORBIDDEN` where it was changed, or has expired. */
export function readAddress(key: Uint8Array, signed: string, nowMs: number): unknown {
  const [encoded = "", tag = "", ...more] = signed.split(".");
  const payload = Buffer.from(encoded, "base64url").toString();
  const given = Buffer.from(tag, "base64url");
  const isValid =
    more.length === 0 &&
    given.byteLength === TAG_BYTES &&
    timingSafeEqual(given, tagOf(key, payload));
  if (!isValid) throw new TfeError("TFE_FORBIDDEN", "the address is not valid");
  const [expiresMs, target] = JSON.parse(payload) as [number, unknown];
  if (nowMs > expiresMs) throw new TfeError("TFE_FORBIDDEN", "the address has expired");
  return target;
}

function tagOf(key: Uint8Array, payload: string): Buffer {
  return createHmac("sha256", key).update(`tfe\0${payload}`).digest();
}
