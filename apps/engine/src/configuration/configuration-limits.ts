import type { ArchiveLimits } from "@stackwright/provider-source";

/** Bytes of a packed configuration. */
export const MAX_PACKED_BYTES = 100 * 1024 * 1024;

/** What a configuration may be, unpacked. */
export const CONFIGURATION_LIMITS: ArchiveLimits = Object.freeze({
  maxEntries: 50_000,
  maxTotalBytes: 1024 * 1024 * 1024,
  maxEntryBytes: 256 * 1024 * 1024,
});
