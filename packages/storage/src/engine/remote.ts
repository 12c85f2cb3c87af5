import { createClient } from "@stackwright/proto/grpc";
import { StorageService } from "@stackwright/proto/storage";
import { StorageError } from "../errors.ts";
import { resolveWatchBuffer, type WatchBufferOptions } from "../feed/watch-stream.ts";
import type { StorageBackend } from "../types.ts";
import { EngineBackend } from "./engine-backend.ts";
import { openConnection, type RemoteConnectionOptions } from "./remote/connect.ts";
import { RemoteEngine } from "./remote/remote-engine.ts";
import { messageToCapabilities } from "./remote/wire.ts";
import { rpcToStorageError } from "./remote/wire-error.ts";

export type { AuthorityOptions, Authorize } from "./remote/authority.ts";
export type { RemoteConnectionOptions } from "./remote/connect.ts";
export type { Grant, GrantScope } from "./remote/grant.ts";
export type { CallBounds } from "./remote/open-calls.ts";
export type { StorageServiceOptions } from "./remote/storage-service.ts";
export { createStorageService } from "./remote/storage-service.ts";

/** Options of {@link createRemoteStorage}. */
export interface RemoteStorageOptions extends RemoteConnectionOptions {
  /** How much a watch holds back for a slow consumer. */
  readonly watchBuffer?: WatchBufferOptions;
}

/**
 * Opens a store behind a storage service. The capabilities are those of the engine there, as far as
 * the token may use them.
 *
 * Monotonic reads hold as long as the address leads to the same server. Watches end with
 * `STORAGE_WATCH_CLOSED` when the connection is lost and can be resumed by their cursor.
 *
 * Rejects with `STORAGE_PERMISSION_DENIED`, with `STORAGE_INCONSISTENT` when the service cannot be
 * reached, or with `STORAGE_UNSUPPORTED` when what answers is no storage service of this protocol.
 */
export async function createRemoteStorage(options: RemoteStorageOptions): Promise<StorageBackend> {
  const { channel, metadata, timeoutMs } = openConnection(options);
  const client = createClient(StorageService, channel, { metadata });
  try {
    const { capabilities } = await client.getCapabilities({}, { timeoutMs });
    if (capabilities === undefined) {
      throw new StorageError("STORAGE_INCONSISTENT", "the service has no capabilities");
    }
    const engine = new RemoteEngine({
      channel,
      client,
      capabilities: messageToCapabilities(capabilities),
      watchBuffer: resolveWatchBuffer(options.watchBuffer),
      timeoutMs,
    });
    return new EngineBackend(engine);
  } catch (error) {
    await channel.close();
    throw rpcToStorageError(error, "read");
  }
}
