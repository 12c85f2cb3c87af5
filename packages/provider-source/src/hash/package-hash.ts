import { ProviderSourceError, quoteForMessage } from "../errors.ts";
import { compareUtf8 } from "../order.ts";

declare const packageHashBrand: unique symbol;

/**
 * The hash of a package: a scheme, a colon and a value.
 *
 * - `h1:` covers names and contents of the files in the package, however it is packed; modes are
 *   not covered. The value is base64.
 * - `zh:` is the SHA-256 of the archive file, in hexadecimal. It says nothing about a package that
 *   is already unpacked.
 *
 * Other schemes are kept as they are and match nothing.
 */
export type PackageHash = string & { readonly [packageHashBrand]: true };

/**
 * Takes a text as a hash if it has a scheme; the value is not checked, because hashes of future
 * schemes must survive. Throws `PROVIDER_SOURCE_HASH_INVALID`.
 */
export function parsePackageHash(text: string): PackageHash {
  if (text.indexOf(":") < 1) {
    throw new ProviderSourceError(
      "PROVIDER_SOURCE_HASH_INVALID",
      `Invalid package hash ${quoteForMessage(text)}: it must start with a scheme and a colon, as in "h1:" or "zh:".`,
      { input: text },
    );
  }
  return text as PackageHash;
}

/** The part before the colon. */
export function hashScheme(hash: PackageHash): string {
  return hash.slice(0, hash.indexOf(":"));
}

/** A hash from the SHA-256 of an archive, in hexadecimal of either case. */
export function zipHash(sha256Hex: string): PackageHash {
  if (!/^[0-9a-fA-F]{64}$/.test(sha256Hex)) {
    throw new ProviderSourceError(
      "PROVIDER_SOURCE_HASH_INVALID",
      `Invalid SHA-256 ${quoteForMessage(sha256Hex)}: it must have 64 hexadecimal digits.`,
      { input: sha256Hex },
    );
  }
  return `zh:${sha256Hex.toLowerCase()}` as PackageHash;
}

/** The SHA-256 of the archive in hexadecimal, if the hash is a `zh:` one. */
export function zipHashHex(hash: PackageHash): string | undefined {
  return hash.startsWith("zh:") ? hash.slice(3) : undefined;
}

/** Whether packages can be checked against it: its scheme is `h1` or `zh`. */
export function isSupportedHash(hash: PackageHash): boolean {
  const scheme = hashScheme(hash);
  return scheme === "h1" || scheme === "zh";
}

/** The hashes without repetitions, in the order of lock files. */
export function normalizeHashes(hashes: Iterable<PackageHash>): readonly PackageHash[] {
  return Object.freeze([...new Set(hashes)].sort(compareUtf8));
}
