import { isStrictVersion, ProviderAddress } from "@stackwright/provider-source";

/**
 * Longest namespace and longest type of published providers. With the longest version they give a record name of less
 * than 512 bytes, which is the longest that stores accept; longer names are never read.
 */
const MAX_PART_LENGTH = 64;
const MAX_PART_BYTES = 128;
const MAX_VERSION_LENGTH = 128;

/** Whether a text can be the namespace of a provider: valid, in canonical form and short enough. */
export function isNamespaceName(text: string): boolean {
  return isShort(text) && canonical(`${text}/x`)?.namespace === text;
}

/** Whether a text can be the type of a published provider: valid, in canonical form and short enough. */
export function isTypeName(text: string): boolean {
  return isShort(text) && canonical(`x/${text}`)?.type === text;
}

/** Whether a text can be the version of a release. */
export function isReleaseVersion(text: string): boolean {
  return text.length <= MAX_VERSION_LENGTH && isStrictVersion(text);
}

function isShort(text: string): boolean {
  return text.length <= MAX_PART_LENGTH && Buffer.byteLength(text) <= MAX_PART_BYTES;
}

function canonical(source: string): ProviderAddress | undefined {
  try {
    return ProviderAddress.parse(source);
  } catch {
    return undefined;
  }
}
