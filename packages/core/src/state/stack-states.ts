import { createHash } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { StackPlan, StackRevision } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  createUlidGenerator,
  isStorageError,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import {
  createLeases,
  fenceHolderOf,
  fenceResourceId,
  type Lease,
  type Leases,
  type LeaseTiming,
  type Renewer,
} from "@stackwright/storage/lease";
import { EngineError } from "../errors.ts";
import { checkState } from "./check-state.ts";
import { inlineContent, loadContent, spillContents } from "./content.ts";
import { FencedWriter } from "./fenced-writer.ts";
import { revisionChanges, revisionEntry } from "./history.ts";
import {
  type Converters,
  decodeKind,
  memberId,
  memberPrefix,
  revisionMember,
  STATE_KINDS,
  stackTenancy,
} from "./kinds.ts";
import { HEAD_IDLE, StackStateLoader } from "./loaded-stack-state.ts";
import type { CipherFactory } from "./stack-keys.ts";
import { StackRecords } from "./stack-records.ts";
import type {
  BeginRun,
  RevisionChange,
  RevisionEntry,
  StackHead,
  StackLock,
  StackReference,
  StackSnapshot,
  StackState,
  StateWriter,
  StoredPlan,
} from "./stack-state.ts";
import type { ObjectKey, StateObject } from "./state-object.ts";
import { invariant, RunStateWriter } from "./state-writer.ts";

/** Options of {@link createStackStates}. */
export interface StackStatesOptions {
  /** Needs guards, batches and strong lists. */
  readonly storage: StorageBackend;
  /** Belongs to the storage: who can read one can read the other. */
  readonly blobs: BlobStore;
  readonly ciphers: CipherFactory;
  /**
   * Receives why secrets cannot be decrypted. States then read without them: `null` in their places, which `omitted` lists. For
   * display; such values cannot be stored. @default reading rejects with `ENGINE_KEY_UNAVAILABLE`
   */
  readonly onMissingKey?: (error: EngineError) => void;
  /** Names this worker; another one after every start of the process. */
  readonly owner: string;
  readonly timing?: LeaseTiming;
  /** @default the process's */
  readonly scheduler?: Clock;
  /** Keeps fences alive; needed in a thread of its own where other processes reach the store. */
  readonly renewer?: Renewer;
  /** Readers for objects of neighbouring releases. */
  readonly converters?: Converters;
  /** Random bytes of ULIDs. @default the operating system's */
  readonly random?: (bytes: number) => Uint8Array;
}

/** The states of all stacks in a store. */
export interface StackStates {
  /** The state of a stack; it need not exist yet. */
  stack(reference: StackReference): StackState;
}

/** States over a store of any engine. `STORAGE_UNSUPPORTED` when it has no guards or batches. */
export function createStackStates(options: StackStatesOptions): StackStates {
  const scheduler = options.scheduler ?? systemClock;
  const { storage, owner, timing, renewer, random } = options;
  const leases = createLeases({
    storage,
    owner,
    clock: scheduler,
    ...(timing === undefined ? {} : { timing }),
    ...(renewer === undefined ? {} : { renewer }),
  });
  const token = createUlidGenerator({
    wallMs: () => scheduler.wallMs(),
    ...(random === undefined ? {} : { randomBytes: random }),
  });
  const parts: StateParts = { ...options, scheduler, leases, token };
  return { stack: (reference) => new StoredStackState(reference, parts) };
}

interface StateParts {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly ciphers: CipherFactory;
  readonly onMissingKey?: (error: EngineError) => void;
  readonly converters?: Converters;
  readonly scheduler: Clock;
  readonly leases: Leases;
  readonly token: () => string;
}

class StoredStackState implements StackState {
  readonly reference: StackReference;
  readonly #parts: StateParts;
  readonly #records: StackRecords;
  readonly #reader: StackStateLoader;

  constructor(reference: StackReference, parts: StateParts) {
    this.reference = reference;
    this.#parts = parts;
    this.#records = new StackRecords(reference, parts);
    this.#reader = new StackStateLoader(this.#records);
  }

  async head(options?: CallOptions): Promise<StackHead> {
    return (await this.#records.head(options))?.message ?? HEAD_IDLE;
  }

  async read(options?: CallOptions): Promise<StackSnapshot> {
    const name = { tenancy: stackTenancy(this.reference), name: this.reference.stack };
    const fence = await readStored(this.#parts.storage, "strong", fenceResourceId(name), options);
    const { head, objects, outputs } = await this.#reader.read(options);
    return {
      head: head?.message ?? HEAD_IDLE,
      objects,
      outputs: outputs?.message.outputs ?? new Map(),
      checks: outputs?.message.checks ?? [],
      inputs: outputs?.message.inputs ?? [],
      epoch: fenceHolderOf(fence).epoch,
    };
  }

  async object(key: ObjectKey, options?: CallOptions): Promise<StateObject | undefined> {
    return this.#records.object(key, options);
  }

  async outputs(options?: CallOptions): Promise<Pick<StackSnapshot, "head" | "outputs">> {
    const outputs = await this.#records.outputs(options);
    return {
      head: { revision: outputs?.message.revision ?? 0n, run: "" },
      outputs: outputs?.message.outputs ?? new Map(),
    };
  }

  async history(
    options: CallOptions & { readonly limit?: number } = {},
  ): Promise<readonly RevisionEntry[]> {
    const { storage, converters } = this.#parts;
    const resources = await storage.list(
      "strong",
      STATE_KINDS.revision,
      stackTenancy(this.reference),
      memberPrefix(this.reference),
      options,
    );
    return resources
      .toSorted((a, b) => (a.id.name < b.id.name ? 1 : -1))
      .slice(0, options.limit)
      .map((resource) => revisionEntry(decodeKind(resource, StackRevision, converters)));
  }

  async changes(
    revision: bigint,
    options?: CallOptions,
  ): Promise<readonly RevisionChange[] | undefined> {
    const member = revisionMember(revision);
    const stored = await this.#records.one(STATE_KINDS.revision, StackRevision, options, member);
    return stored && revisionChanges(this.#records, stored.message, options);
  }

  async storePlan(
    { baseRevision, bytes, documents }: Pick<StoredPlan, "baseRevision" | "bytes" | "documents">,
    options?: CallOptions,
  ): Promise<StoredPlan> {
    const digest = createHash("sha256").update(bytes).digest("hex");
    const cipher = await this.#records.ensureCipher(options);
    const content = inlineContent(cipher.seal(bytes, this.#planContext(digest)));
    const createdAtMs = Math.floor(this.#parts.scheduler.wallMs());
    const message = StackPlan.create({
      digest,
      baseRevision,
      createdAtMs: BigInt(createdAtMs),
      ...(documents && { documents: { ...documents } }),
    });
    message.bytes = content;
    const size = (): number => StackPlan.encode(message).finish().length;
    await spillContents([content], size, this.#records.blobs);
    const id = memberId(this.reference, STATE_KINDS.plan, digest);
    const encoded = StackPlan.encode(message).finish();
    const resource = this.#records.resource(id, undefined, encoded, this.#parts.token());
    try {
      await this.#parts.storage.writeCAS(resource, options);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      const present = await this.plan(digest, options);
      if (present !== undefined) return present;
      throw error;
    }
    return { digest, baseRevision, createdAtMs, bytes, ...(documents && { documents }) };
  }

  async plan(digest: string, options?: CallOptions): Promise<StoredPlan | undefined> {
    const stored = await this.#records.one(STATE_KINDS.plan, StackPlan, options, digest);
    if (stored === undefined) return undefined;
    const cipher = await this.#records.loadCipher(options);
    const sealed = await loadContent(stored.message.bytes, this.#records.blobs);
    const bytes = cipher.open(sealed, this.#planContext(digest));
    if (createHash("sha256").update(bytes).digest("hex") !== digest) {
      throw new EngineError("ENGINE_STATE_CORRUPT", `the plan ${digest} is another one`);
    }
    const { baseRevision, createdAtMs, documents } = stored.message;
    return {
      digest,
      baseRevision,
      createdAtMs: Number(createdAtMs),
      bytes,
      ...(documents && { documents }),
    };
  }

  async acquire(options?: CallOptions): Promise<StackLock> {
    return this.#hold(await this.#parts.leases.acquire(this.#lease(), options));
  }

  async tryAcquire(options?: CallOptions): Promise<StackLock | undefined> {
    const lease = await this.#parts.leases.tryAcquire(this.#lease(), options);
    return lease && this.#hold(lease);
  }

  #lease() {
    return { tenancy: stackTenancy(this.reference), name: this.reference.stack };
  }

  #hold(lease: Lease): StackLock {
    return new Hold(lease, { ...this.#parts, records: this.#records, reader: this.#reader });
  }

  #planContext(digest: string): string {
    const { account, project, stack } = this.reference;
    return ["plan", account, project, stack, digest].join("\0");
  }
}

interface HoldParts extends StateParts {
  readonly records: StackRecords;
  readonly reader: StackStateLoader;
}

class Hold implements StackLock {
  readonly epoch: bigint;
  readonly signal: AbortSignal;
  readonly #lease: Lease;
  readonly #parts: HoldParts;

  constructor(lease: Lease, parts: HoldParts) {
    this.#lease = lease;
    this.epoch = lease.tenure.epoch;
    this.signal = lease.signal;
    this.#parts = parts;
  }

  isHeld(): boolean {
    return this.#lease.isHeld();
  }

  async begin({ run, base }: BeginRun, options?: CallOptions): Promise<StateWriter> {
    const { storage, scheduler, token, records, reader } = this.#parts;
    const writes = new FencedWriter(storage, this.#lease, scheduler);
    writes.assertHeld();
    // No other worker can write now: what was read before the stack was locked is valid if the head is still the same.
    const state = await reader.read(options, (head) => {
      if (base !== undefined) checkBase(head, run, base);
    });
    reader.forget();
    const { stored: objects, outputs } = state;
    const head = state.head?.message ?? HEAD_IDLE;
    const problems = checkState(state.objects.values(), { interrupted: head.run !== "" });
    if (problems.length > 0) throw invariant("the recorded state is broken", problems);
    return new RunStateWriter({
      records,
      writes,
      scheduler,
      token,
      run,
      epoch: this.epoch,
      head,
      headResource: state.head?.resource,
      objects,
      published: outputs?.message ?? {
        revision: 0n,
        outputs: new Map(),
        changes: new Map(),
        checks: [],
        inputs: [],
      },
      outputsResource: outputs?.resource,
    });
  }

  release(): Promise<void> {
    return this.#lease.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/** `ENGINE_PLAN_STALE` unless the state is the one that the plan of the run was made from. */
function checkBase(head: StackHead, run: string, base: bigint): void {
  if (head.run === "" ? head.revision === base : head.run === run && head.revision === base + 1n) {
    return;
  }
  const found = head.run === "" ? "" : `, being written by the run ${head.run}`;
  throw new EngineError(
    "ENGINE_PLAN_STALE",
    `the plan was made from revision ${base}, the state is at ${head.revision}${found}`,
  );
}
