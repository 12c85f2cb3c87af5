import { lstat, mkdtemp, realpath, rm, unlink } from "node:fs/promises";
import { join } from "node:path";

/** Names of sockets are at most 104 bytes long on some systems, the file's own name included. */
const MAX_FOLDER_BYTES = 72;

/** A folder that only this user can enter, for the sockets of one provider. Removed with all that is in it. */
export class PrivateFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(parent: string): Promise<PrivateFolder> {
    const short = Buffer.byteLength(parent) > MAX_FOLDER_BYTES ? "/tmp" : parent;
    return new PrivateFolder(await mkdtemp(join(await realpath(short), "stackwright-")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 2 });
  }
}

/** Removes a socket that an ended process left behind; leaves anything else that is at the path. */
export async function removeSocket(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isSocket()) await unlink(path);
  } catch {
    // It is gone, as it should be.
  }
}
