import { access, constants, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new directory that is removed again. */
export interface ScratchDirectory extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes a directory for a test: in memory where the machine has such a file system, as most tests
 * are not about the disk and would only wait for it.
 */
export async function makeScratchDirectory(): Promise<ScratchDirectory> {
  const parent = await access("/dev/shm", constants.W_OK).then(() => "/dev/shm", tmpdir);
  const path = await mkdtemp(join(parent, "stackwright-storage-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
