import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@stackwright/proto/grpc";
import { tenancyOf } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { createBlobsService } from "@stackwright/storage/blob/remote";
import { createLeases, type LeaseTiming, type Renewer } from "@stackwright/storage/lease";
import { createStorageService } from "@stackwright/storage/remote";
import { WORKER_LEASE } from "../domain/run-places.ts";
import { RunGrants } from "./run-grants.ts";
import { succeedTenures } from "./successive-tenures.ts";
import { openWorkerFolder } from "./worker-folder.ts";
import { Tenure, type TenureParts } from "./worker-tenure.ts";

interface RunWorkerOptions extends Omit<TenureParts, "grants" | "folder" | "socketPath"> {
  readonly blobs: BlobStore;
  /** Folder for bundles, sockets and installed providers. */
  readonly directory: string;
  readonly timing?: LeaseTiming;
  readonly renewer?: Renewer | undefined;
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
  const parts = { ...options, grants, folder, socketPath };
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

type WorkerParts = TenureParts & Pick<RunWorkerOptions, "timing" | "renewer">;

/** Takes a lease under a new name and begins to work. */
async function beginTenure(parts: WorkerParts, signal: AbortSignal): Promise<Tenure> {
  const { storage, clock, timing, renewer } = parts;
  const id = parts.token();
  const leases = createLeases({
    storage,
    owner: id,
    clock,
    ...(timing !== undefined && { timing }),
    ...(renewer !== undefined && { renewer }),
  });
  const lease = await leases.acquire(leaseName(id), { signal });
  const worker = new Tenure(id, lease, parts, async (dead, given) =>
    leases.acquire(leaseName(dead), { signal: given }),
  );
  worker.start();
  return worker;
}

function leaseName(id: string) {
  return { tenancy: tenancyOf({ kind: "site" }), name: `${WORKER_LEASE}${id}` };
}
