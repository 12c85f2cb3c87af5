import { sleep } from "@stackwright/base/clock";
import { StackHead, StackOutputs, StackPlan, StackRevision } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  isStorageError,
  type Resource,
  type ResourceType,
  readStored,
  StorageError,
} from "@stackwright/storage";
import { createLeases, type Lease } from "@stackwright/storage/lease";
import { decodeRecord, type RecordKind, typeUrlOf } from "../../domain/record-kind.ts";
import {
  memberPlace,
  type Place,
  projectTenancy,
  STACK_HEAD_KIND,
  STACK_OUTPUTS_KIND,
  STACK_PLAN_KIND,
  stackPlace,
} from "../../domain/run-places.ts";
import type { ExecutionJob, ExecutionResult } from "../../executor/execution-job.ts";
import type { Execution, ExecutionEnd, ExecutionHost, Executor } from "../../executor/executor.ts";
import { idOf } from "../../queue/transaction.ts";
import type { RunSabotage } from "./sabotage.ts";
import type { PolicyBlock } from "./sim-case.ts";
import { SimProcess, type WriteFault } from "./sim-process.ts";
import { type SharedStore, SimStore } from "./sim-store.ts";
import type { SimPlan, SimWorld } from "./sim-world.ts";
import type { ExecutionState } from "./ticket-rules.ts";

const simType = (kind: string): ResourceType => ({
  group: "stackwright",
  groupVersion: "v1",
  kind,
});
/** The intent to make an object, and a revision of the state with its run: what a real executor keeps in the state. */
const INTENT = simType("SimIntent");
const REVISION = simType("SimRevision");

/** How an executor lives on after the worker that started it. */
const ORPHAN_MS = 10_000;

interface SimExecutorParts {
  readonly shared: SharedStore;
  readonly world: SimWorld;
  /** The process of the worker. */
  readonly parent: SimProcess;
  /** Those that concern executors. */
  readonly faults: readonly WriteFault[];
  /** A number in [0, 1) that belongs to an attempt at a step. */
  readonly drawOf: (job: ExecutionJob) => number;
  readonly token: () => string;
  readonly sabotage: RunSabotage;
  /** An executor ended without a result, or with one that leaves its step open. */
  readonly onLoss: (run: string) => void;
  /** An executor began, or ended. */
  readonly onExecution: (run: string, state: ExecutionState) => void;
  /** What the policies of a stack do where they fail. */
  readonly policyOf: (stack: string) => PolicyBlock;
  /** Names of the stacks that the configuration of a stack reads. */
  readonly readsOf: (stack: string) => readonly string[];
  /** Nothing goes wrong any more. */
  readonly isCalm: () => boolean;
}

/** Executors as processes of their own: they plan and apply something that is counted, over the store and its leases. */
export class SimExecutor implements Executor {
  readonly kind = "child";
  readonly isRemote = false;
  readonly #parts: SimExecutorParts;
  readonly #children = new Set<SimProcess>();
  readonly #counts = new Map<WriteFault, number>();
  #count = 0;

  constructor(parts: SimExecutorParts) {
    this.#parts = parts;
  }

  start(job: ExecutionJob, host: ExecutionHost): Execution {
    const { parent, faults, onLoss, onExecution } = this.#parts;
    const { scheduler, chance } = parent;
    this.#count += 1;
    const killed = Promise.withResolvers<ExecutionEnd>();
    const process = new SimProcess({
      name: `${parent.name}/e${this.#count}`,
      scheduler,
      chance,
      skewMs: 0,
      delayMs: parent.delayMs,
      faults: this.#parts.isCalm() ? [] : faults,
      counts: this.#counts,
      onDeath: (fault) => {
        this.#children.delete(process);
        onExecution(job.run, "killed");
        // What its worker ended was not lost.
        if (fault !== undefined) onLoss(job.run);
        killed.resolve({ how: "signal", signal: "SIGKILL" });
      },
    });
    this.#children.add(process);
    onExecution(job.run, "begun");
    const stopped = new AbortController();
    const step = new SimStep(this.#parts, process, job, host, stopped.signal);
    const ended = step.run().then((result): ExecutionEnd => {
      this.#children.delete(process);
      onExecution(job.run, "done");
      if (result.phase === "interrupted") onLoss(job.run);
      return { how: "result", result };
    });
    return {
      ended: Promise.race([ended, killed.promise]),
      stop: (stage) => {
        if (stage === 2) process.die();
        else stopped.abort(new Error("stopped"));
      },
      [Symbol.asyncDispose]: async () => process.die(),
    };
  }

  /** The worker has died: what it had started ends by itself a little later. */
  orphan(): void {
    for (const child of this.#children) {
      child.scheduler.after(ORPHAN_MS, () => child.die());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve();
  }
}

/** One step of one run in its process. */
class SimStep {
  readonly #parts: SimExecutorParts;
  readonly #process: SimProcess;
  readonly #store: SimStore;
  readonly #job: ExecutionJob;
  readonly #host: ExecutionHost;
  readonly #stop: AbortSignal;

  constructor(
    parts: SimExecutorParts,
    process: SimProcess,
    job: ExecutionJob,
    host: ExecutionHost,
    stop: AbortSignal,
  ) {
    this.#parts = parts;
    this.#process = process;
    this.#store = new SimStore(parts.shared, process);
    this.#job = job;
    this.#host = host;
    this.#stop = stop;
  }

  async run(): Promise<ExecutionResult> {
    const { step } = this.#job;
    try {
      void this.#host.onEvent({ type: "step-start", text: step }, 0);
      if (step === "plan") return await this.#plan();
      return step === "apply" ? await this.#apply() : await this.#recover();
    } catch (error) {
      // As a real executor tells what ended it.
      const reason = error instanceof Error ? error.message : String(error);
      const isLost = isStorageError(error) || step === "recover";
      if (isLost) return { phase: "interrupted", reason };
      if (this.#stop.aborted) return { phase: "canceled", reason: "canceled" };
      const { code } = error as { code?: unknown };
      return { phase: "failed", reason, reasonCode: typeof code === "string" ? code : "internal" };
    }
  }

  async #plan(): Promise<ExecutionResult> {
    await this.#host.beginPlanning();
    const draw = this.#parts.drawOf(this.#job);
    // Some plans take long.
    await this.#work(draw ** 3 * 20_000);
    let head = await this.#head();
    if (head.run !== "") {
      await using lease = await this.#lease();
      head = await this.#settle(lease);
    }
    const reads = this.#job.ofSet === true ? await this.#readOthers() : new Map<string, string>();
    if (draw < 0.08) return { phase: "failed", reason: "it cannot be planned", reasonCode: "plan" };
    if (draw < 0.2) return { phase: "no_changes", revision: head.revision.toString() };
    const plan = this.#parts.world.plan({
      run: this.#job.run,
      baseRevision: head.revision,
      objects: 1 + Math.floor(draw * 3),
      block: isOdd(draw * 10) ? this.#parts.policyOf(this.#job.stack.stack) : "none",
      left: this.#leftBy(draw),
      reads,
    });
    const place = memberPlace(this.#job.stack, plan.digest);
    await this.#write([
      await this.#record(STACK_PLAN_KIND, place, StackPlan.create({ digest: plan.digest })),
    ]);
    return {
      phase: "planned",
      planDigest: plan.digest,
      baseRevision: head.revision.toString(),
      summary: { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 },
      documentSha256: "",
      viewSha256: "",
      ...(plan.left.length > 0 && { left: { parts: plan.left, replace: [] } }),
    };
  }

  /** The plans of the other stacks of its set that it reads; rejects where they are not there, as the engine does. */
  async #readOthers(): Promise<ReadonlyMap<string, string>> {
    const reads = new Map<string, string>();
    for (const name of this.#parts.readsOf(this.#job.stack.stack)) {
      const found = await this.#host.readOtherStack({ stack: name });
      const [plan] = found?.planned?.outputs ?? [];
      if (found !== undefined && plan !== undefined) reads.set(found.stack.stack, plan.name);
    }
    return reads;
  }

  /** What a stage leaves: less than the one before it, and at last nothing. */
  #leftBy(draw: number): readonly string[] {
    const { stage } = this.#job;
    if (stage === undefined) return [];
    const most = stage.number === 1 ? 3 : stage.before.length - 1;
    return ["a", "b", "c"].slice(0, Math.max(0, Math.min(most, Math.floor(draw * 4))));
  }

  async #apply(): Promise<ExecutionResult> {
    const { world, sabotage } = this.#parts;
    const digest = this.#job.planDigest ?? "";
    const plan = world.plans.get(digest);
    if (plan === undefined) throw new Error("the plan does not exist");
    await using lease = await this.#lease();
    const head = await this.#head();
    if (head.run !== "" || head.revision !== plan.baseRevision) {
      return { phase: "superseded", reason: "the state is another one" };
    }
    const draw = this.#parts.drawOf(this.#job);
    // Providers start.
    await this.#work(draw * 3_000);
    const beginning = this.#host.beginApply(lease.tenure.epoch);
    if (sabotage.ignoresRefusal === true) await beginning.catch(() => undefined);
    else await beginning;
    await this.#write([await this.#headRecord(this.#job.run, head.revision)], lease);
    let made = 0;
    for (let object = 0; object < plan.objects; object += 1) {
      if (this.#stop.aborted) break;
      await this.#make(lease, plan, object);
      made += 1;
    }
    if (draw > 0.93 && !this.#parts.isCalm()) {
      return { phase: "interrupted", reason: "the provider is away" };
    }
    if (made === 0 && plan.objects > 0 && sabotage.overstates !== true) {
      // As of a real one, nothing is left of an apply that wrote no object: no server could read what another revision says.
      await this.#write([await this.#headRecord("", head.revision)], lease);
      return { phase: "canceled", revision: head.revision.toString(), reason: "canceled" };
    }
    const revision = head.revision + 1n;
    const isWhole = made === plan.objects || sabotage.overstates === true;
    const phase = isWhole ? "applied" : "partially_applied";
    await this.#finish(lease, revision, phase, isOdd(draw * 100));
    if (isWhole) return { phase: "applied", revision: revision.toString() };
    return { phase, revision: revision.toString(), reason: "canceled" };
  }

  async #make(lease: Lease, plan: SimPlan, object: number): Promise<void> {
    const { stack, run } = this.#job;
    const place = memberPlace(stack, run, `${object}`);
    await this.#write([await this.#mark(INTENT, place)], lease);
    if (!lease.isHeld()) throw new StorageError("STORAGE_LEASE_LOST");
    this.#parts.world.make({
      stack: stack.stack,
      run,
      digest: plan.digest,
      object,
      owner: lease.tenure.owner,
      epoch: lease.tenure.epoch,
    });
    await this.#work(this.#parts.drawOf(this.#job) * 4_000);
  }

  async #recover(): Promise<ExecutionResult> {
    const { run } = this.#job;
    const { sabotage, world } = this.#parts;
    await using lease = await this.#lease();
    const head = await this.#head();
    if (this.#parts.drawOf(this.#job) > 0.9 && !this.#parts.isCalm())
      throw new Error("the provider is away");
    if (head.run !== "") {
      const { revision } = await this.#settle(lease);
      if (sabotage.repeats === true) {
        const [plan] = [...world.plans.values()].filter((one) => one.run === run);
        if (plan !== undefined) await this.#make(lease, plan, 0);
      }
      return {
        phase: world.of(run).length > 0 ? "partially_applied" : "failed",
        revision: revision.toString(),
        reason: "recovered",
      };
    }
    const revisions = await this.#store.list(
      "strong",
      REVISION,
      projectTenancy(this.#job.stack),
      `${this.#job.stack.stack}.`,
    );
    const own = revisions.find(({ generation }) => generation === run);
    if (own === undefined) {
      const reason = "the worker was lost before the apply changed anything";
      return { phase: "failed", reason, reasonCode: "worker_lost" };
    }
    const [, revision = "0"] = own.id.name.split(".");
    const { status } = StackRevision.decode(own.data?.value ?? new Uint8Array());
    if (status === "applied") return { phase: status, revision };
    return { phase: "partially_applied", revision, reason: "lost", reasonCode: "result_lost" };
  }

  /** Ends what an interrupted run left open. */
  async #settle(lease: Lease): Promise<StackHead> {
    const head = await this.#head();
    // Another step did so, before this one had the lease.
    if (head.run === "") return head;
    const revision = head.revision + 1n;
    await this.#write(
      [await this.#headRecord("", revision), await this.#revision(head.run, revision)],
      lease,
    );
    return StackHead.create({ run: "", revision });
  }

  async #finish(lease: Lease, revision: bigint, status: string, publishes: boolean): Promise<void> {
    const place = stackPlace(this.#job.stack);
    const outputs = StackOutputs.create({ revision });
    await this.#write(
      [
        await this.#headRecord("", revision),
        await this.#revision(this.#job.run, revision, status),
        ...(publishes ? [await this.#record(STACK_OUTPUTS_KIND, place, outputs)] : []),
      ],
      lease,
    );
  }

  async #lease(): Promise<Lease> {
    const leases = createLeases({
      storage: this.#store,
      owner: this.#parts.token(),
      clock: this.#process.clock,
    });
    return leases.acquire(stackPlace(this.#job.stack), { signal: this.#stop });
  }

  async #work(ms: number): Promise<void> {
    await sleep(this.#process.clock, ms);
  }

  async #head(): Promise<StackHead> {
    const found = await readStored(
      this.#store,
      "strong",
      idOf(STACK_HEAD_KIND, stackPlace(this.#job.stack)),
    );
    return found === undefined ? StackHead.create({}) : decodeRecord(STACK_HEAD_KIND, found);
  }

  async #headRecord(run: string, revision: bigint): Promise<BatchOperation> {
    const place = stackPlace(this.#job.stack);
    return this.#record(STACK_HEAD_KIND, place, StackHead.create({ run, revision }));
  }

  async #revision(run: string, revision: bigint, status = ""): Promise<BatchOperation> {
    const value = StackRevision.encode(StackRevision.create({ revision, run, status })).finish();
    const data = { typeUrl: typeUrlOf(REVISION), value };
    const place = memberPlace(this.#job.stack, revision.toString());
    return this.#resource(REVISION, place, run, data);
  }

  async #write(operations: readonly BatchOperation[], lease?: Lease): Promise<void> {
    const guards = lease === undefined ? [] : [lease.guard];
    await this.#store.batch(operations, { guards });
  }

  async #record<M>(kind: RecordKind<M>, place: Place, message: M): Promise<BatchOperation> {
    const data = { typeUrl: typeUrlOf(kind.type), value: kind.codec.encode(message).finish() };
    return this.#resource(kind.type, place, this.#parts.token(), data);
  }

  async #mark(type: ResourceType, place: Place): Promise<BatchOperation> {
    return this.#resource(type, place, this.#parts.token());
  }

  async #resource(
    type: ResourceType,
    place: Place,
    generation: string,
    data?: Resource["data"],
  ): Promise<BatchOperation> {
    const id = idOf({ type }, place);
    const found = await readStored(this.#store, "strong", id);
    return {
      kind: "write",
      resource: {
        id: { ...id, uid: found?.id.uid ?? generation },
        version: found?.version ?? "",
        generation,
        metadata: {},
        status: {},
        ...(data !== undefined && { data }),
      },
    };
  }
}

/** A choice that belongs to a number. */
function isOdd(value: number): boolean {
  return Math.floor(value) % 2 === 1;
}
