import type { ArchiveLimits } from "@stackwright/provider-source";

/** Characters of a template or of variables in a request. */
export const MAX_BODY_CHARACTERS = 51_200;
/** Characters of an address. */
export const MAX_URI_CHARACTERS = 2048;
/** Bytes of a template that is not an archive, and of a file of variables. */
export const MAX_TEXT_BYTES = 1024 * 1024;
/** Bytes of an archive, packed. */
export const MAX_ARCHIVE_BYTES = 1024 * 1024;

/** What an archive may unpack to: the limits of the service. */
export const TEMPLATE_ARCHIVE_LIMITS: ArchiveLimits = Object.freeze({
  maxEntries: 200,
  maxTotalBytes: 1024 * 1024,
  maxEntryBytes: 1024 * 1024,
  maxDepth: 16,
  maxPathBytes: 512,
  maxDirectoryBytes: 128 * 1024,
});

/** Files of an archive. */
export const MAX_ARCHIVE_FILES = 100;
