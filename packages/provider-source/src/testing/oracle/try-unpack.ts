import { readdir } from "node:fs/promises";
import { expect } from "vitest";
import { archiveFromBytes } from "../../archive/archive-source.ts";
import { type UnpackOptions, type UnpackSummary, unpackArchive } from "../../archive/unpack.ts";
import type { ProviderSourceErrorCode } from "../../errors.ts";
import { Scratch } from "./scratch.ts";

/** Unpacks an archive in memory to `out` in the scratch directory. */
export function unpack(
  scratch: Scratch,
  bytes: Uint8Array,
  options?: UnpackOptions,
): Promise<UnpackSummary> {
  return unpackArchive(archiveFromBytes(bytes), scratch.path("out"), options);
}

/** Expects the refusal, and that nothing at all was left or written anywhere in reach. */
export async function expectRefusal(
  bytes: Uint8Array,
  code: ProviderSourceErrorCode,
  options?: UnpackOptions,
): Promise<void> {
  await using scratch = await Scratch.create();
  await expect(unpack(scratch, bytes, options)).rejects.toMatchObject({
    name: "ProviderSourceError",
    code,
  });
  expect(await readdir(scratch.root)).toEqual([]);
}
