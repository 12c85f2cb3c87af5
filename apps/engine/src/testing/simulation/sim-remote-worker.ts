import { silentLogger } from "@stackwright/base/logger";
import { createChance } from "@stackwright/core/testing";
import { createUlidGenerator } from "@stackwright/storage";
import { beginRemoteTenure } from "../../remote-worker/begin-remote-tenure.ts";
import { type SimConnection, WORKER_PREFIX } from "./sim-connection.ts";
import type { SimExecutor } from "./sim-executor.ts";
import type { SimProcess } from "./sim-process.ts";
import { NO_FOLDERS } from "./sim-server.ts";
import type { SimStore } from "./sim-store.ts";
import { SimTenures } from "./sim-tenures.ts";

interface SimRemoteWorkerParts {
  readonly process: SimProcess;
  /** The storage service, which its leases are behind. */
  readonly store: SimStore;
  readonly executor: SimExecutor;
  readonly connection: SimConnection;
  readonly capacity: number;
  readonly seed: number;
}

/** A worker without a store, as a process of its own. */
export class SimRemoteWorker {
  readonly process: SimProcess;
  readonly #tenures: SimTenures;

  constructor({ process, store, executor, connection, capacity, seed }: SimRemoteWorkerParts) {
    this.process = process;
    const { clock } = process;
    const chance = createChance(seed);
    const nextUlid = createUlidGenerator({
      wallMs: () => clock.wallMs(),
      randomBytes: (count) => chance.bytes(count),
    });
    const parts = {
      storage: store,
      nextId: () => `${WORKER_PREFIX}${nextUlid()}`,
      clock,
      logger: silentLogger,
      executor,
      folders: NO_FOLDERS,
      client: connection.client(),
      clientOf: (token: string) => connection.client(token),
      store: { address: { socketPath: "simulated" } },
      capacity,
    };
    this.#tenures = new SimTenures(async (signal) => beginRemoteTenure(parts, signal), clock);
  }

  /** Ends in an orderly way; resolves when it has ended. */
  async close(graceMs: number): Promise<void> {
    await this.#tenures.close(graceMs);
  }
}
