import { StorageError } from "../errors.ts";
import type { WatchPrologue, WatchStream } from "../feed/watch-stream.ts";
import { abortable } from "./abortable.ts";

/**
 * Starts an open stream with the prologue that the engine prepares, and gives the prologue. Where the engine cannot
 * give one without loss (`STORAGE_WATCH_CLOSED`), the stream says so to its consumer, and nothing is returned. On
 * every other failure the stream is closed, and the failure thrown.
 */
export async function startWatch<P extends WatchPrologue>(
  stream: WatchStream,
  opening: Promise<P>,
  signal: AbortSignal | undefined,
): Promise<P | undefined> {
  // Also the prologue of a watch that was given up meanwhile has to be freed: start() does.
  opening.then((prologue) => stream.start(prologue)).catch(() => undefined);
  try {
    return await abortable(opening, signal);
  } catch (error) {
    if (error instanceof StorageError && error.code === "STORAGE_WATCH_CLOSED") {
      stream.fail(error);
      return undefined;
    }
    stream.close();
    throw error;
  }
}
