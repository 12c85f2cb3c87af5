import type { Clock } from "@stackwright/base/clock";
import { Run_Mode, Run_Phase, Run as RunMessage } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  isStorageError,
  type Resource,
  readStored,
  type StorageBackend,
  type WriteOptions,
} from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import {
  type Converters,
  decodeKind,
  memberId,
  memberPrefix,
  STATE_KINDS,
  stackTenancy,
  typeUrl,
} from "./kinds.ts";
import type { PlanDocuments } from "./plan-documents.ts";
import type { StackReference } from "./stack-state.ts";

/** Where a run is. The last nine are ends, but for those that the table leads on from. */
export type RunPhase =
  | "queued"
  | "preparing"
  | "planning"
  | "planned"
  | "awaiting_approval"
  | "approved"
  | "applying"
  | "policy_failed"
  | "plan_finished"
  | "applied"
  | "no_changes"
  | "partially_applied"
  | "failed"
  | "discarded"
  | "canceled"
  | "superseded"
  | "rolled_back";

/**
 * From each phase to which: the one table of what can become of a run. What is not here cannot be written.
 *
 * - A worker that has died leaves a run where it was. One that was being applied continues under the next holder of the
 *   fence (`applying` to itself, with a higher epoch), or ends with the result of its recovery. A forced end is the
 *   same.
 * - A plan of an earlier state cannot be applied: its run is `superseded`.
 */
export const RUN_TRANSITIONS = {
  queued: ["preparing", "canceled", "superseded"],
  preparing: ["planning", "queued", "failed", "canceled", "superseded"],
  planning: ["planned", "no_changes", "queued", "failed", "canceled", "superseded"],
  planned: [
    "awaiting_approval",
    "approved",
    "plan_finished",
    "policy_failed",
    "queued",
    "discarded",
    "canceled",
    "superseded",
  ],
  awaiting_approval: ["approved", "discarded", "canceled", "superseded"],
  approved: ["applying", "queued", "failed", "discarded", "canceled", "superseded"],
  applying: ["applying", "applied", "partially_applied", "failed", "canceled", "rolled_back"],
  policy_failed: ["approved", "awaiting_approval", "discarded", "canceled", "superseded"],
  plan_finished: [],
  applied: [],
  no_changes: [],
  partially_applied: ["rolled_back"],
  failed: [],
  discarded: [],
  canceled: [],
  superseded: [],
  rolled_back: [],
} as const satisfies Readonly<Record<RunPhase, readonly RunPhase[]>>;

/** Where a run can go from a phase: a pair that is not in the table is no type. */
export type NextRunPhase<From extends RunPhase> = (typeof RUN_TRANSITIONS)[From][number];

/** Whether the table leads from one phase to another. */
export function isRunTransition(from: RunPhase, to: RunPhase): boolean {
  const next: readonly RunPhase[] = RUN_TRANSITIONS[from];
  return next.includes(to);
}

/** In which phases a run can begin: to make a plan, or with one that was kept and approved. */
export const FIRST_PHASES = ["queued", "approved"] as const satisfies readonly RunPhase[];

/** The public record of one run over a stack; the steps of its apply are in the state objects. */
export interface Run {
  /** ULID; or a name that follows from the cause, so that several reactions to one cause make one run. */
  readonly id: string;
  readonly phase: RunPhase;
  /** `user:ann`, `output:<stack>@<revision>`, ... */
  readonly cause: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The plan that is, or is to be, approved. */
  readonly planDigest?: string;
  /** Head revision that its plan was made from; there is one as soon as there is a plan. */
  readonly baseRevision?: bigint;
  /** Fence epoch of the worker that applies it. */
  readonly epoch?: bigint;
  /** Head revision with which it ended. */
  readonly revision?: bigint;
  readonly reason?: string;
  /** Its plan without secrets, where that is kept. */
  readonly planDocuments?: PlanDocuments;
  /** A server executes it: commands read it, and leave every change to the server. @default false */
  readonly ofServer?: boolean;
}

/** What changes with a phase. */
export type RunPatch = Partial<
  Pick<Run, "planDigest" | "baseRevision" | "epoch" | "revision" | "reason" | "planDocuments">
>;

/** A run that begins. */
export interface NewRun extends RunPatch {
  readonly id: string;
  readonly cause: string;
  /** @default "queued" */
  readonly phase?: (typeof FIRST_PHASES)[number];
}

/** The runs of one stack. */
export interface Runs {
  /** Adds a run; an existing one is returned unchanged. */
  create(run: NewRun, options?: CallOptions): Promise<Run>;
  read(id: string, options?: CallOptions): Promise<Run | undefined>;
  /** The oldest first. */
  list(options?: CallOptions): Promise<readonly Run[]>;
  /** Takes away a run that has ended. `ENGINE_STATE_TRANSITION` for any other, and for those of a server. */
  remove(id: string, options?: CallOptions): Promise<void>;
  /**
   * Moves a run from one phase to another; only one of several that try succeeds. `ENGINE_STATE_TRANSITION` when it
   * is in another phase than `from`, there is no way from there, or a server executes it. With guards the run moves only while they hold
   * (`STORAGE_GUARD_FAILED`), so that a worker which lost its claim moves nothing.
   */
  transition(
    id: string,
    from: RunPhase,
    to: RunPhase,
    patch?: RunPatch,
    options?: WriteOptions,
  ): Promise<Run>;
}

/** Whether nothing more happens to a run by itself. */
export function isEnded(phase: RunPhase): boolean {
  return phase === "partially_applied" || RUN_TRANSITIONS[phase].length === 0;
}

/** The phases as they are stored. */
export const STORED_RUN_PHASES: Readonly<Record<RunPhase, Run_Phase>> = {
  queued: Run_Phase.PHASE_QUEUED,
  preparing: Run_Phase.PHASE_PREPARING,
  planning: Run_Phase.PHASE_PLANNING,
  planned: Run_Phase.PHASE_PLANNED,
  awaiting_approval: Run_Phase.PHASE_AWAITING_APPROVAL,
  approved: Run_Phase.PHASE_APPROVED,
  applying: Run_Phase.PHASE_APPLYING,
  policy_failed: Run_Phase.PHASE_POLICY_FAILED,
  applied: Run_Phase.PHASE_APPLIED,
  no_changes: Run_Phase.PHASE_NO_CHANGES,
  partially_applied: Run_Phase.PHASE_PARTIALLY_APPLIED,
  failed: Run_Phase.PHASE_FAILED,
  discarded: Run_Phase.PHASE_DISCARDED,
  canceled: Run_Phase.PHASE_CANCELED,
  superseded: Run_Phase.PHASE_SUPERSEDED,
  rolled_back: Run_Phase.PHASE_ROLLED_BACK,
  plan_finished: Run_Phase.PHASE_PLAN_FINISHED,
};

/** The phase that is stored; undefined for one of a newer release. */
export function storedRunPhase(stored: Run_Phase): RunPhase | undefined {
  return (Object.keys(STORED_RUN_PHASES) as RunPhase[]).find(
    (name) => STORED_RUN_PHASES[name] === stored,
  );
}

interface RunsOptions {
  readonly storage: StorageBackend;
  readonly scheduler: Clock;
  /** Makes a text that no other write has. */
  readonly token: () => string;
  readonly converters?: Converters;
}

/** Run objects in a store, changed by compare-and-swap. */
export function createRuns(stack: StackReference, options: RunsOptions): Runs {
  return new StoredRuns(stack, options);
}

/** Runs of one batch: each is one write. */
const MAX_AT_ONCE = 32;

/**
 * Moves runs of several stacks from one phase to another, all in one step or none. `ENGINE_STATE_TRANSITION` as for one of them.
 * More than 32 are moved in several steps: where a later one fails, those of the steps before it have been moved.
 */
export async function transitionRuns(
  runs: readonly { readonly stack: StackReference; readonly id: string }[],
  { from, to }: { readonly from: RunPhase; readonly to: RunPhase },
  options: RunsOptions,
  call?: CallOptions,
): Promise<void> {
  for (let at = 0; at < runs.length; at += MAX_AT_ONCE) {
    const some = runs.slice(at, at + MAX_AT_ONCE);
    const move = async (): Promise<void> => {
      const operations = await Promise.all(
        some.map(async ({ stack, id }) =>
          new StoredRuns(stack, options).moved(id, { from, to, patch: {} }, call),
        ),
      );
      const writes = operations.map(({ resource }) => ({ kind: "write" as const, resource }));
      try {
        await options.storage.batch(writes, call);
      } catch (error) {
        if (!isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
        // Another writer was faster with one of them; its result decides.
        return move();
      }
    };
    await move();
  }
}

class StoredRuns implements Runs {
  readonly #stack: StackReference;
  readonly #options: RunsOptions;

  constructor(stack: StackReference, options: RunsOptions) {
    this.#stack = stack;
    this.#options = options;
  }

  async create({ phase = "queued", ...given }: NewRun, options?: CallOptions): Promise<Run> {
    const { id } = given;
    const now = this.#now();
    const run: Run = { ...given, phase, createdAtMs: now, updatedAtMs: now };
    try {
      await this.#options.storage.writeCAS(this.#resource(run, undefined), options);
      return run;
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      const present = await this.read(id, options);
      if (present === undefined) throw error;
      return present;
    }
  }

  async read(id: string, options?: CallOptions): Promise<Run | undefined> {
    const stored = await this.#stored(id, options);
    return stored && this.#decode(stored);
  }

  async list(options?: CallOptions): Promise<readonly Run[]> {
    const resources = await this.#options.storage.list(
      "strong",
      STATE_KINDS.run,
      stackTenancy(this.#stack),
      memberPrefix(this.#stack),
      options,
    );
    return resources
      .map((resource) => this.#decode(resource))
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
  }

  async transition(
    id: string,
    from: RunPhase,
    to: RunPhase,
    patch: RunPatch = {},
    options?: WriteOptions,
  ): Promise<Run> {
    const { run, resource } = await this.moved(id, { from, to, patch }, options);
    try {
      await this.#options.storage.writeCAS(resource, options);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
      // Another writer was faster; its result decides.
      return this.transition(id, from, to, patch, options);
    }
    return run;
  }

  /** A run as it is in another phase, and the write that makes it so. */
  async moved(
    id: string,
    {
      from,
      to,
      patch,
    }: { readonly from: RunPhase; readonly to: RunPhase; readonly patch: RunPatch },
    options?: CallOptions,
  ): Promise<{ readonly run: Run; readonly resource: Resource }> {
    const stored = await this.#stored(id, options);
    const present = stored && this.#decode(stored);
    if (present?.ofServer === true) throw servers(id);
    if (present?.phase !== from || !isRunTransition(from, to)) {
      throw refused(id, present?.phase, from, to);
    }
    const run: Run = { ...present, ...patch, phase: to, updatedAtMs: this.#now() };
    return { run, resource: this.#resource(run, stored) };
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    const stored = await this.#stored(id, options);
    if (stored === undefined) return;
    const { phase, ofServer = false } = this.#decode(stored);
    if (ofServer) throw servers(id);
    if (!isEnded(phase)) {
      throw new EngineError(
        "ENGINE_STATE_TRANSITION",
        `the run ${id} is ${phase}; it has not ended`,
      );
    }
    await this.#options.storage.deleteCAS(stored.id, stored.version, options);
  }

  #now(): number {
    return Math.floor(this.#options.scheduler.wallMs());
  }

  #stored(id: string, options?: CallOptions): Promise<Resource | undefined> {
    const name = memberId(this.#stack, STATE_KINDS.run, id);
    return readStored(this.#options.storage, "strong", name, options);
  }

  #decode(resource: Resource): Run {
    const message = decodeKind(resource, RunMessage, this.#options.converters);
    const phase = storedRunPhase(message.phase);
    if (phase === undefined) {
      throw new EngineError("ENGINE_STATE_CORRUPT", `the run ${message.id} is in an unknown phase`);
    }
    return {
      id: message.id,
      phase,
      cause: message.cause,
      createdAtMs: Number(message.createdAtMs),
      updatedAtMs: Number(message.updatedAtMs),
      ...(message.planDigest === ""
        ? {}
        : { planDigest: message.planDigest, baseRevision: message.baseRevision }),
      ...(message.epoch === 0n ? {} : { epoch: message.epoch }),
      ...(message.revision === 0n ? {} : { revision: message.revision }),
      ...(message.reason === "" ? {} : { reason: message.reason }),
      ...(message.planDocuments && { planDocuments: message.planDocuments }),
      ...(message.mode === Run_Mode.MODE_UNSPECIFIED ? {} : { ofServer: true }),
    };
  }

  #resource(run: Run, stored: Resource | undefined): Resource {
    // What a server records of its runs is not known here, and stays.
    const before = stored && decodeKind(stored, RunMessage, this.#options.converters);
    const message = RunMessage.create({
      ...before,
      id: run.id,
      stack: this.#stack.stack,
      phase: STORED_RUN_PHASES[run.phase],
      cause: run.cause,
      createdAtMs: BigInt(run.createdAtMs),
      updatedAtMs: BigInt(run.updatedAtMs),
      planDigest: run.planDigest ?? "",
      baseRevision: run.baseRevision ?? 0n,
      epoch: run.epoch ?? 0n,
      revision: run.revision ?? 0n,
      reason: run.reason ?? "",
      ...(run.planDocuments && { planDocuments: { ...run.planDocuments } }),
    });
    const id = memberId(this.#stack, STATE_KINDS.run, run.id);
    const generation = this.#options.token();
    return {
      id: { ...id, uid: stored?.id.uid ?? generation },
      version: stored?.version ?? "",
      generation,
      metadata: {},
      status: {},
      data: { typeUrl: typeUrl(id.type), value: RunMessage.encode(message).finish() },
    };
  }
}

function servers(id: string): EngineError {
  return new EngineError(
    "ENGINE_STATE_TRANSITION",
    `the run ${id} is executed by a server; change it through the API of the server`,
  );
}

function refused(
  id: string,
  present: RunPhase | undefined,
  from: RunPhase,
  to: RunPhase,
): EngineError {
  return new EngineError(
    "ENGINE_STATE_TRANSITION",
    `the run ${id} is ${present ?? "not there"}; asked for ${from} to ${to}`,
  );
}
