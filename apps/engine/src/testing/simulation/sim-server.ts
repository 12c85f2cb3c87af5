import { silentLogger } from "@stackwright/base/logger";
import type { NamedStack, StackReference, StoredKeys } from "@stackwright/core";
import { createChance, MemoryBlobs } from "@stackwright/core/testing";
import { createUlidGenerator } from "@stackwright/storage";
import type { PolicyRunner } from "../../policy/policy-runner.ts";
import { TicketBoard } from "../../queue/ticket-board.ts";
import type { TransactionParts } from "../../queue/transaction.ts";
import { finishDeletions } from "../../stack-deletion/stack-deletion.ts";
import { beginTenure, type WorkerParts } from "../../worker/begin-tenure.ts";
import { RunGrants } from "../../worker/run-grants.ts";
import type { StepFolders } from "../../worker/step-folders.ts";
import type { StoredClaimParts } from "../../worker/stored-claim-host.ts";
import type { SimExecutor } from "./sim-executor.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimStore } from "./sim-store.ts";
import { SimTenures } from "./sim-tenures.ts";

interface SimServerParts {
  readonly process: SimProcess;
  readonly store: SimStore;
  readonly executor: SimExecutor;
  readonly capacity: number;
  readonly seed: number;
  readonly stackOf: (stack: StackReference) => NamedStack | undefined;
  readonly judgePlan: NonNullable<StoredClaimParts["judgePlan"]>;
  /** Whether it looks for deletions that were interrupted. */
  readonly finishesDeletions: boolean;
}

/** How often: a real server does so less often. */
const FINISH_MS = 10_000;

/** Steps of a simulation need no folder: nothing of theirs is a file. */
export const NO_FOLDERS: StepFolders = {
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
  /** For what remote workers ask of it. */
  readonly claims: StoredClaimParts & { readonly tickets: TicketBoard };
  readonly #stopping = new AbortController();
  readonly #tenures: SimTenures;

  constructor(given: SimServerParts) {
    const { process, store, executor, capacity, seed, stackOf, judgePlan } = given;
    const { finishesDeletions } = given;
    this.process = process;
    this.executor = executor;
    const { clock } = process;
    const chance = createChance(seed);
    const token = createUlidGenerator({
      wallMs: () => clock.wallMs(),
      randomBytes: (count) => chance.bytes(count),
    });
    this.parts = { storage: store, clock, token, random: () => chance.next() };
    const tickets = new TicketBoard({ storage: store, clock, logger: silentLogger });
    const worker: WorkerParts = {
      ...this.parts,
      tickets,
      executor,
      capacity,
      logger: silentLogger,
      folders: NO_FOLDERS,
      grants: new RunGrants(),
      socketPath: undefined,
      blobs: new MemoryBlobs(),
      keys: NO_KEYS,
      policies: {} as PolicyRunner,
      judgePlan,
      // A plan of a simulation is its digest.
      readPlannedOutputs: async (_stack, planDigest) =>
        Promise.resolve([{ name: planDigest, value: "" }]),
      stackOf: async (stack) => Promise.resolve(stackOf(stack)),
    };
    this.claims = { ...worker, tickets };
    this.#tenures = new SimTenures(async (signal) => beginTenure(worker, signal), clock);
    if (finishesDeletions) this.#finishLater();
  }

  /** Aborts when it ends. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends in an orderly way; resolves when it has ended. */
  async close(graceMs: number): Promise<void> {
    this.#stopping.abort(new Error("the server ends"));
    await this.#tenures.close(graceMs);
  }

  #finishLater(): void {
    const { signal } = this.#stopping;
    void this.parts.clock.after(FINISH_MS, () => {
      if (signal.aborted) return;
      // The next one does what this one could not.
      void Promise.allSettled([finishDeletions(this.parts, signal)]).then(() =>
        this.#finishLater(),
      );
    });
  }
}

/** Nothing that a simulated run reads is encrypted. */
const NO_KEYS = {
  keyIds: [],
  list: async () => Promise.resolve([]),
  ensure: async () => Promise.resolve({}),
  dataKeys: async () => Promise.resolve([]),
} as unknown as StoredKeys;
