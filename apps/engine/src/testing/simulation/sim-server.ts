import { silentLogger } from "@stackwright/base/logger";
import type { NamedStack, StackReference, StoredKeys } from "@stackwright/core";
import { createChance, MemoryBlobs } from "@stackwright/core/testing";
import { createUlidGenerator } from "@stackwright/storage";
import type { PolicyRunner } from "../../policy/policy-runner.ts";
import type { TransactionParts } from "../../queue/transaction.ts";
import { beginTenure, type WorkerParts } from "../../worker/begin-tenure.ts";
import { RunGrants } from "../../worker/run-grants.ts";
import type { StepFolders } from "../../worker/step-folders.ts";
import { succeedTenures } from "../../worker/successive-tenures.ts";
import type { SimExecutor } from "./sim-executor.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimStore } from "./sim-store.ts";

interface SimServerParts {
  readonly process: SimProcess;
  readonly store: SimStore;
  readonly executor: SimExecutor;
  readonly capacity: number;
  readonly seed: number;
  readonly stackOf: (stack: StackReference) => NamedStack | undefined;
}

/** Steps of a simulation need no folder: nothing of theirs is a file. */
const NO_FOLDERS: StepFolders = {
  providers: "",
  open: async () =>
    Promise.resolve({
      path: "",
      keepState: async () => Promise.resolve(undefined),
      remove: async () => Promise.resolve(),
    }),
};

/** A server with its worker, as one process. */
export class SimServer {
  readonly process: SimProcess;
  readonly executor: SimExecutor;
  readonly parts: TransactionParts & { readonly storage: SimStore };
  readonly #closing = Promise.withResolvers<number>();

  constructor({ process, store, executor, capacity, seed, stackOf }: SimServerParts) {
    this.process = process;
    this.executor = executor;
    const { clock } = process;
    const chance = createChance(seed);
    const token = createUlidGenerator({
      wallMs: () => clock.wallMs(),
      randomBytes: (count) => chance.bytes(count),
    });
    this.parts = { storage: store, clock, token, random: () => chance.next() };
    const worker: WorkerParts = {
      ...this.parts,
      executor,
      capacity,
      logger: silentLogger,
      folders: NO_FOLDERS,
      grants: new RunGrants(),
      socketPath: undefined,
      blobs: new MemoryBlobs(),
      keys: NO_KEYS,
      // No project has a policy.
      policies: {} as PolicyRunner,
      stackOf: async (stack) => Promise.resolve(stackOf(stack)),
    };
    void this.#work(worker);
  }

  /** Ends in an orderly way; resolves when it has ended. */
  async close(graceMs: number): Promise<void> {
    this.#closing.resolve(graceMs);
    await this.#closed.promise;
  }

  readonly #closed = Promise.withResolvers<void>();

  async #work(parts: WorkerParts): Promise<void> {
    const stack = new AsyncDisposableStack();
    const { clock, logger } = parts;
    for (;;) {
      try {
        const tenures = await succeedTenures({
          begin: async (signal) => beginTenure(parts, signal),
          stack,
          clock,
          logger,
        });
        await tenures.close(await this.#closing.promise);
        this.#closed.resolve();
        return;
      } catch {
        // As a process that is started again where the store was away at its start.
        await new Promise<void>((resolve) => void clock.after(1_000, resolve));
      }
    }
  }
}

/** Nothing that a simulated run reads is encrypted. */
const NO_KEYS = {
  ensure: async () => Promise.resolve({}),
  dataKeys: async () => Promise.resolve([]),
} as unknown as StoredKeys;
