import { setTimeout as delay } from "node:timers/promises";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { BatchOperation, Guard, StorageBackend } from "../../types.ts";
import { createRandom, type Random } from "../random.ts";
import { A1, HOME, sample } from "../samples.ts";
import type {
  GuardRecord,
  History,
  ReadCall,
  Sighting,
  WriteCall,
  WriteResult,
  WriteStepRecord,
} from "./history.ts";
import { createTimeline, type Timeline } from "./timeline.ts";
import { recordWatch, type WatchRecorder } from "./watch-recorder.ts";

/** What a workload does. */
export interface WorkloadOptions {
  /** Instances over one store; clients are spread over them. */
  readonly instances: readonly StorageBackend[];
  readonly seed: number;
  /** @default 8 */
  readonly clients?: number;
  /** Operations of all clients together. @default 500 */
  readonly operations?: number;
  /** Keys that they compete for. @default 8 */
  readonly keys?: number;
  /** Watches per instance. @default 2 */
  readonly watches?: number;
  /**
   * Called after each operation that reached the store with the number of those so far, so that
   * faults can be brought in at chosen places.
   */
  readonly disturb?: (operations: number) => void;
  /** Called before the final reads, to heal what was disturbed. */
  readonly heal?: () => Promise<void>;
}

/** A resource as a client last saw it, or its absence; what it bases its next write on. */
type Belief = Resource | undefined;

const FENCES = 2;

/**
 * Lets clients read, write, delete, guard and batch at random on a few keys while watches run, and
 * records everything. Writes are based on what the client saw last, so some win and some are refused;
 * some are wrong on purpose. Errors of the network or the store are part of the run: a call whose
 * answer was lost is recorded as such, a watch that was closed is opened again.
 */
export async function runWorkload(options: WorkloadOptions): Promise<History> {
  const run = new Workload(options);
  return run.run();
}

class Workload {
  readonly #options: Required<Omit<WorkloadOptions, "disturb" | "heal">> &
    Pick<WorkloadOptions, "disturb" | "heal">;
  readonly #timeline: Timeline = createTimeline();
  readonly #writes: WriteCall[] = [];
  readonly #reads: ReadCall[] = [];
  readonly #keys: readonly string[];
  /** Operations that were answered, or whose answer was lost. */
  #done = 0;
  #tokens = 0;

  constructor(options: WorkloadOptions) {
    this.#options = { clients: 8, operations: 500, keys: 8, watches: 2, ...options };
    this.#keys = [
      ...Array.from({ length: FENCES }, (_, index) => `fence-${index}`),
      ...Array.from({ length: this.#options.keys }, (_, index) => `key-${index}`),
    ];
  }

  async run(): Promise<History> {
    const { clients, instances, watches, seed } = this.#options;
    const recorders = instances.flatMap((storage, instance) =>
      Array.from({ length: watches }, (_, index) =>
        recordWatch({
          storage,
          instance,
          timeline: this.#timeline,
          prefix: index % 2 === 0 ? "" : "key-",
          // Every other pair goes away and comes back by its cursor now and then.
          resumeEvery: index % 4 < 2 ? undefined : 20,
          random: createRandom(seed * 31 + index),
          readBack: (key) => this.#read(instance, "eventual", key),
        }),
      ),
    );
    await Promise.all(
      Array.from({ length: clients }, (_, client) =>
        this.#client(client, createRandom(seed + client)),
      ),
    );
    await this.#options.heal?.();
    return this.#finish(recorders);
  }

  /** Reads the final state, writes the markers, and waits until the watches have come to them. */
  async #finish(recorders: readonly WatchRecorder[]): Promise<History> {
    const [first] = this.#options.instances;
    if (first === undefined) throw new RangeError("a workload needs an instance");
    for (const key of this.#keys) await untilAnswered(() => this.#read(0, "strong", key));
    await untilAnswered(async () => {
      const name = `key-~end-${this.#nextToken()}`;
      for (const recorder of recorders) recorder.endAt(name);
      const marker = await first.writeCAS(sample(A1, HOME, name)).catch(() => undefined);
      return marker;
    });
    const watches = [];
    for (const recorder of recorders) watches.push(await recorder.done());
    // Positions of resumed watches are counted per recorder.
    let offset = 0;
    const joined = watches.flatMap((records) => {
      const moved = records.map((record) => ({
        ...record,
        resumes: record.resumes === undefined ? undefined : record.resumes + offset,
      }));
      offset += records.length;
      return moved;
    });
    return { writes: this.#writes, reads: this.#reads, watches: joined };
  }

  async #client(client: number, random: Random): Promise<void> {
    const { instances, operations, disturb } = this.#options;
    const instance = client % instances.length;
    const beliefs = new Map<string, Belief>();
    while (this.#done < operations) {
      const key = random.pick(this.#keys);
      const dice = random.below(100);
      let reached: boolean;
      if (dice < 15) {
        reached = await this.#observe(instance, "eventual", key, beliefs);
      } else if (dice < 35) {
        reached = await this.#observe(instance, "strong", key, beliefs);
      } else if (dice < 60) {
        reached = await this.#write(instance, [this.#step(key, beliefs, random)], [], beliefs);
      } else if (dice < 80) {
        const fence = `fence-${random.below(FENCES)}`;
        const guards = [guardOn(fence, beliefs.get(fence))];
        reached = await this.#write(instance, [this.#step(key, beliefs, random)], guards, beliefs);
      } else {
        reached = await this.#batch(instance, random, beliefs);
      }
      if (reached) {
        this.#done += 1;
        disturb?.(this.#done);
      }
      // Lets the others in, also where every call settles in the turn in which it was made; a store
      // that is away is not asked without pause.
      if (!reached) await delay(5);
      else if (random.below(4) === 0) await delay(0);
    }
  }

  async #batch(instance: number, random: Random, beliefs: Map<string, Belief>): Promise<boolean> {
    const keys = new Set(
      Array.from({ length: 2 + random.below(3) }, () => random.pick(this.#keys)),
    );
    const steps = Array.from(keys, (key) => this.#step(key, beliefs, random));
    const fence = this.#keys.find((key) => key.startsWith("fence") && !keys.has(key));
    const guarded = fence !== undefined && random.below(3) === 0;
    const guards = guarded ? [guardOn(fence, beliefs.get(fence))] : [];
    return this.#write(instance, steps, guards, beliefs);
  }

  /** A write or delete of a key on the ground of what the client believes, sometimes wrongly. */
  #step(key: string, beliefs: ReadonlyMap<string, Belief>, random: Random): BatchOperation {
    const belief = beliefs.get(key);
    const wrong = random.below(12) === 0;
    if (belief !== undefined && random.below(5) === 0) {
      const version = wrong ? "" : belief.version;
      return { kind: "delete", id: belief.id, version };
    }
    const generation = this.#nextToken();
    const uid = belief?.id.uid ?? generation;
    const version = wrong ? `wrong-${generation}` : (belief?.version ?? "");
    return { kind: "write", resource: sample(A1, HOME, key, { uid, version, generation }) };
  }

  /** Writes and records; false when it certainly did not reach the store. */
  async #write(
    instance: number,
    operations: readonly BatchOperation[],
    guards: readonly Guard[],
    beliefs: Map<string, Belief>,
  ): Promise<boolean> {
    const storage = this.#options.instances[instance] as StorageBackend;
    const start = this.#timeline.now();
    const { result, stored } = await attempt(storage, operations, guards);
    const end = result.kind === "unknown" ? Number.POSITIVE_INFINITY : this.#timeline.now();
    this.#writes.push({
      instance,
      steps: operations.map(toStepRecord),
      guards: guards.map(toGuardRecord),
      start,
      end,
      result,
    });
    for (const [index, operation] of operations.entries()) {
      const { name } = operation.kind === "write" ? operation.resource.id : operation.id;
      // After a failure the client has to look again; a guess from before would never win.
      if (result.kind !== "ok") await this.#observe(instance, "eventual", name, beliefs);
      else beliefs.set(name, stored[index]);
    }
    for (const guard of result.kind === "ok" ? [] : guards) {
      await this.#observe(instance, "eventual", guard.id.name, beliefs);
    }
    return result.kind !== "nothing";
  }

  /** Reads, records and remembers; false when there was no answer. */
  async #observe(
    instance: number,
    mode: ReadCall["mode"],
    key: string,
    beliefs: Map<string, Belief>,
  ): Promise<boolean> {
    const answer = await this.#read(instance, mode, key);
    if (answer !== undefined) beliefs.set(key, answer.found);
    return answer !== undefined;
  }

  /** Reads and records; `undefined` when there was no answer. */
  async #read(
    instance: number,
    mode: ReadCall["mode"],
    key: string,
  ): Promise<{ readonly found: Belief } | undefined> {
    const storage = this.#options.instances[instance] as StorageBackend;
    const start = this.#timeline.now();
    const id = sample(A1, HOME, key, { uid: "" }).id;
    try {
      const found = await storage.read(mode, id).catch((error: unknown) => {
        if (error instanceof StorageError && error.code === "STORAGE_NOT_FOUND") return undefined;
        throw error;
      });
      const end = this.#timeline.now();
      const sighting = found === undefined ? undefined : toSighting(found);
      this.#reads.push({ instance, key, mode, start, end, found: sighting });
      return { found };
    } catch (error) {
      if (error instanceof StorageError && error.code === "STORAGE_INCONSISTENT") return undefined;
      throw error;
    }
  }

  #nextToken(): string {
    this.#tokens += 1;
    return `t${this.#tokens}`;
  }
}

/** What a watch or a read shows of a resource. */
function toSighting(resource: Resource): Sighting {
  return { uid: resource.id.uid, version: resource.version, token: resource.generation };
}

interface Attempt {
  readonly result: WriteResult;
  readonly stored: readonly (Resource | undefined)[];
}

async function attempt(
  storage: StorageBackend,
  operations: readonly BatchOperation[],
  guards: readonly Guard[],
): Promise<Attempt> {
  const [only] = operations;
  try {
    let stored: readonly (Resource | undefined)[];
    if (operations.length > 1 || only === undefined) {
      stored = await storage.batch(operations, { guards });
    } else if (only.kind === "write") {
      stored = [await storage.writeCAS(only.resource, { guards })];
    } else {
      await storage.deleteCAS(only.id, only.version, { guards });
      stored = [undefined];
    }
    return { result: { kind: "ok", versions: stored.map((one) => one?.version) }, stored };
  } catch (error) {
    return { result: toResult(error), stored: [] };
  }
}

function toResult(error: unknown): WriteResult {
  if (!(error instanceof StorageError)) throw error;
  const { code, details } = error;
  if (code === "STORAGE_CAS_FAILURE" || code === "STORAGE_WRONG_UID") {
    return { kind: "refused", code, index: details.index ?? 0 };
  }
  if (code === "STORAGE_GUARD_FAILED") return { kind: "refused", code, index: -1 };
  if (code !== "STORAGE_INCONSISTENT") throw error;
  return { kind: details.outcome === "not-applied" ? "nothing" : "unknown" };
}

function guardOn(name: string, belief: Belief): Guard {
  const id = sample(A1, HOME, name, { uid: "" }).id;
  return { id, version: belief?.version ?? "" };
}

function toGuardRecord(guard: Guard): GuardRecord {
  return { key: guard.id.name, version: guard.version };
}

function toStepRecord(operation: BatchOperation): WriteStepRecord {
  if (operation.kind === "delete") {
    const { id, version } = operation;
    return { kind: "delete", key: id.name, uid: id.uid, expected: version };
  }
  const { id, version, generation } = operation.resource;
  return { kind: "write", key: id.name, uid: id.uid, expected: version, token: generation };
}

/** Tries until there is an answer; a store that was healed has one in the end. */
async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while ((await ask()) === undefined) {
    if (performance.now() > deadline) throw new Error("the store does not answer after the run");
    await delay(20);
  }
}
