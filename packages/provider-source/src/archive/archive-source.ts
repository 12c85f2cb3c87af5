import { open } from "node:fs/promises";
import { ioError, ProviderSourceError } from "../errors.ts";

/**
 * An archive that can be read at any place: a file, bytes in memory, or a stored object with range
 * reads. Its content must not change while it is read.
 */
export interface ArchiveSource {
  /** What messages call it: a path or a name. */
  readonly name: string;
  readonly sizeBytes: number;
  /**
   * Exactly these bytes; the range lies within the size. Not called again before it has settled.
   * Rejects with the reason of `signal`, or as its storage fails.
   */
  read(
    offset: number,
    length: number,
    options?: { readonly signal?: AbortSignal },
  ): Promise<Uint8Array>;
}

/** An archive that lies in memory. */
export function archiveFromBytes(bytes: Uint8Array, name = "archive"): ArchiveSource {
  return {
    name,
    sizeBytes: bytes.byteLength,
    read: async (offset, length, { signal } = {}) => {
      signal?.throwIfAborted();
      return bytes.subarray(offset, offset + length);
    },
  };
}

/**
 * An archive that is a file, open until it is closed. A file that gets shorter meanwhile is an
 * error, `PROVIDER_SOURCE_IO`, never a shorter read.
 */
export async function openArchiveFile(path: string): Promise<ArchiveSource & AsyncDisposable> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path);
  } catch (error) {
    throw ProviderSourceError.from(error, path);
  }
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw ioError(path, "it is not a file");
    return {
      name: path,
      sizeBytes: info.size,
      read: async (offset, length, { signal } = {}) => {
        signal?.throwIfAborted();
        const bytes = Buffer.allocUnsafe(length);
        let at = 0;
        while (at < length) {
          const { bytesRead } = await handle
            .read(bytes, at, length - at, offset + at)
            .catch((error: unknown) => {
              throw ProviderSourceError.from(error, path);
            });
          if (bytesRead === 0) {
            throw ioError(path, "the file got shorter while it was read");
          }
          at += bytesRead;
        }
        return bytes;
      },
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw ProviderSourceError.from(error, path);
  }
}
