import { createHmac, timingSafeEqual } from "node:crypto";
import { RegistryError } from "../errors.ts";

/** Where a page begins: after, or before, a place in the order of creation. */
export interface PagePosition {
  readonly direction: "after" | "before";
  readonly sequence: bigint;
}

const TAG_BYTES = 16;
const LIFE_MS = 24 * 3_600_000;
const FORM = /^[A-Za-z0-9_-]{1,512}$/;

/**
 * A marker is opaque to clients: the place, the time, and a keyed digest over both and over the request
 * that it continues (`request`: account, region, list, order, limit). With other parameters, of another
 * account, changed, made up, or older than a day, it is refused.
 */
export function formatMarker(
  key: Uint8Array,
  request: string,
  position: PagePosition,
  nowMs: number,
): string {
  const { direction, sequence } = position;
  const payload = `${direction === "after" ? "a" : "b"}.${sequence.toString(36)}.${Math.floor(nowMs).toString(36)}`;
  return Buffer.concat([tagOf(key, request, payload), Buffer.from(payload)]).toString("base64url");
}

/** The place in a marker. Throws `REGISTRY_MARKER_INVALID`. */
export function parseMarker(
  key: Uint8Array,
  request: string,
  marker: string,
  nowMs: number,
): PagePosition {
  const bytes = FORM.test(marker) ? Buffer.from(marker, "base64url") : Buffer.alloc(0);
  const payload = bytes.subarray(TAG_BYTES).toString("latin1");
  // Only the text that was given out: base64 has several spellings of the same bytes.
  if (bytes.length <= TAG_BYTES || bytes.toString("base64url") !== marker) throw refused();
  if (!timingSafeEqual(bytes.subarray(0, TAG_BYTES), tagOf(key, request, payload))) {
    throw refused();
  }
  const [direction, sequence = "", time = ""] = payload.split(".");
  if (nowMs - Number.parseInt(time, 36) > LIFE_MS) {
    throw new RegistryError(
      "REGISTRY_MARKER_INVALID",
      "the marker has expired; start the list again without a marker",
    );
  }
  let value = 0n;
  for (const digit of sequence) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return { direction: direction === "a" ? "after" : "before", sequence: value };
}

function tagOf(key: Uint8Array, request: string, payload: string): Buffer {
  const hmac = createHmac("sha256", key).update(`marker\0${request}\0${payload}`);
  return hmac.digest().subarray(0, TAG_BYTES);
}

function refused(): RegistryError {
  return new RegistryError(
    "REGISTRY_MARKER_INVALID",
    "the marker is not one that was given for this request",
  );
}
