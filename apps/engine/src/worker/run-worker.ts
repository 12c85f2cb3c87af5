import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@stackwright/proto/grpc";
import type { BlobStore } from "@stackwright/storage/blob";
import { createBlobsService } from "@stackwright/storage/blob/remote";
import { createStorageService } from "@stackwright/storage/remote";
import { beginTenure, type WorkerParts } from "./begin-tenure.ts";
import { RunGrants } from "./run-grants.ts";
import { createStepFolders } from "./step-folders.ts";
import { succeedTenures } from "./successive-tenures.ts";
import { openWorkerFolder } from "./worker-folder.ts";

interface RunWorkerOptions extends Omit<WorkerParts, "grants" | "folders" | "socketPath"> {
  readonly blobs: BlobStore;
  /** Folder for bundles, sockets and installed providers. */
  readonly directory: string;
}

/** A worker that claims tickets and executes them. Disposing ends it. */
export interface RunWorker extends AsyncDisposable {
  readonly id: string;
  /** Looks for tickets soon. */
  wake(): void;
  /** Claims nothing more; plans are returned to the queue, applies may end within the time, then they are canceled. */
  close(graceMs?: number): Promise<void>;
}

/**
 * Starts a worker. Its life is a lease: while that is renewed, no other worker takes its claims. With the lease it loses its
 * claims, and begins anew under another name.
 */
export async function startRunWorker(options: RunWorkerOptions): Promise<RunWorker> {
  const { clock, logger } = options;
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await openWorkerFolder(options.directory, logger));
  const grants = new RunGrants();
  let socketPath: string | undefined;
  if (options.executor.isRemote) {
    // The path of a socket has at most 107 bytes.
    const place = stack.use(await mkdtempDisposable(join(tmpdir(), "sw-")));
    socketPath = join(place.path, "s");
    const { authorize } = grants;
    stack.adopt(
      await startServer({
        address: { socketPath },
        services: [
          createStorageService({ storage: options.storage, authorize }),
          createBlobsService({ blobs: options.blobs, authorize }),
        ],
      }),
      async (server) => server.close({ graceMs: 0 }),
    );
  }
  const folders = createStepFolders(folder, logger);
  const parts = { ...options, grants, folders, socketPath };
  const tenures = await succeedTenures({
    begin: (signal) => beginTenure(parts, signal),
    stack,
    clock,
    logger,
  });
  const { close } = tenures;
  return {
    get id() {
      return tenures.current().id;
    },
    wake: () => tenures.current().wake(),
    close,
    [Symbol.asyncDispose]: async () => close(),
  };
}
