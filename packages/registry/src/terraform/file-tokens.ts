import { createHmac, timingSafeEqual } from "node:crypto";

/** What an address of a file leads to. */
export type FileTarget =
  /** An archive: its blob is all that is needed. */
  | { readonly kind: "archive"; readonly sha256: string; readonly size: number }
  /** The list of checksums of the first `count` archives of a release, or its signature. */
  | {
      readonly kind: "sums" | "signature";
      readonly release: ReleaseKey;
      readonly count: number;
    };

/** Names a release in the store. */
export interface ReleaseKey {
  readonly origin: "published" | "function";
  readonly account: string;
  readonly name: string;
}

/** Why a token is not taken. */
type TokenProblem = "forged" | "expired";

const TAG_BYTES = 32;

// The command sends no credentials when it fetches files, so their addresses carry the permission: what
// may be read, until when, and a keyed digest over both. What a token leads to never changes: an archive
// is named by its digest, and a list by how many archives it has, as releases are only ever extended.

/** Makes the middle of a file's address. */
export function formatFileToken(key: Uint8Array, target: FileTarget, expiresMs: number): string {
  const fields =
    target.kind === "archive"
      ? ["a", target.sha256, target.size]
      : [
          target.kind === "sums" ? "l" : "s",
          target.release.origin === "published" ? "p" : "f",
          target.release.account,
          target.release.name,
          target.count,
        ];
  const payload = JSON.stringify([Math.floor(expiresMs), ...fields]);
  return `${Buffer.from(payload).toString("base64url")}.${tagOf(key, payload).toString("base64url")}`;
}

/** Reads the middle of a file's address. */
export function parseFileToken(
  key: Uint8Array,
  token: string,
  nowMs: number,
): FileTarget | TokenProblem {
  const [encoded = "", tag = "", ...more] = token.split(".");
  const payload = Buffer.from(encoded, "base64url").toString();
  const given = Buffer.from(tag, "base64url");
  if (more.length > 0 || given.byteLength !== TAG_BYTES) return "forged";
  if (!timingSafeEqual(given, tagOf(key, payload))) return "forged";
  const [expiresMs, kind, ...rest] = JSON.parse(payload) as [number, string, ...unknown[]];
  if (nowMs > expiresMs) return "expired";
  if (kind === "a") {
    const [sha256, size] = rest as [string, number];
    return { kind: "archive", sha256, size };
  }
  const [origin, account, name, count] = rest as [string, string, string, number];
  const release: ReleaseKey = {
    origin: origin === "p" ? "published" : "function",
    account,
    name,
  };
  return { kind: kind === "l" ? "sums" : "signature", release, count };
}

function tagOf(key: Uint8Array, payload: string): Buffer {
  return createHmac("sha256", key).update(`file\0${payload}`).digest();
}
