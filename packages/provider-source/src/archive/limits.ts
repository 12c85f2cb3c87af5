import { ProviderSourceError } from "../errors.ts";

/** What an archive may cost its reader. Sizes in bytes. */
export interface ArchiveLimits {
  /** Files and directories. @default 20_000 */
  readonly maxEntries?: number;
  /** All files together, unpacked. @default 4 GiB */
  readonly maxTotalBytes?: number;
  /** One file, unpacked. @default 2 GiB */
  readonly maxEntryBytes?: number;
  /**
   * Unpacked size by packed size, of each file above 1 MiB and of all files together. Binaries and
   * text reach 3 to 20. @default 200
   */
  readonly maxRatio?: number;
  /** The path of a file. @default 1024 */
  readonly maxPathBytes?: number;
  /** Nested directories. @default 64 */
  readonly maxDepth?: number;
  /** The central directory, which is held in memory. @default 16 MiB */
  readonly maxDirectoryBytes?: number;
}

/** All limits, none missing. */
export type ResolvedArchiveLimits = Required<ArchiveLimits>;

const MIB = 1024 * 1024;

/** The limits that hold where none are given: far above real packages, far below a bomb. */
export const DEFAULT_ARCHIVE_LIMITS: ResolvedArchiveLimits = Object.freeze({
  maxEntries: 20_000,
  maxTotalBytes: 4096 * MIB,
  maxEntryBytes: 2048 * MIB,
  maxRatio: 200,
  maxPathBytes: 1024,
  maxDepth: 64,
  maxDirectoryBytes: 16 * MIB,
});

/** Below this size a high ratio is harmless, and normal for files of zeros. */
export const RATIO_FREE_BYTES = MIB;

/** Fills in the defaults; refuses values that are no positive numbers. */
export function resolveArchiveLimits(limits: ArchiveLimits = {}): ResolvedArchiveLimits {
  const resolved = { ...DEFAULT_ARCHIVE_LIMITS };
  for (const name of Object.keys(resolved) as (keyof ArchiveLimits)[]) {
    const value = limits[name];
    if (value === undefined) continue;
    if (!(value > 0)) throw new RangeError(`${name} must be a positive number, not ${value}`);
    resolved[name] = value;
  }
  return resolved;
}

/** Throws `PROVIDER_SOURCE_ARCHIVE_LIMIT` if more was found than a limit allows. */
export function checkLimit(
  limits: ResolvedArchiveLimits,
  limit: keyof ResolvedArchiveLimits,
  found: number,
  entry?: string,
): void {
  const allowed = limits[limit];
  if (found <= allowed) return;
  const place = entry === undefined ? "the archive" : JSON.stringify(entry);
  throw new ProviderSourceError(
    "PROVIDER_SOURCE_ARCHIVE_LIMIT",
    `The archive is refused: ${place} has ${found} where ${limit} allows ${allowed}. If it can be trusted, raise that limit.`,
    { limit, allowed, found, ...(entry === undefined ? {} : { entry }) },
  );
}
