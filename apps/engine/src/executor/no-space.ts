import { isStorageError } from "@stackwright/storage";

const CODES: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/**
 * Why nothing more is written in the folder of a step, and what to do: for an error of the system that says that there is no space, or that has
 * one as its cause. Undefined for all others, also for those of the store, whose space is elsewhere.
 */
export function noSpaceReason(error: unknown): string | undefined {
  if (!(error instanceof Error) || isStorageError(error)) return undefined;
  if (!("code" in error) || !CODES.includes(error.code)) return noSpaceReason(error.cause);
  return `no space is left in the run directory of the worker: make some on its file system, and request the run again (${error.message})`;
}
