import { formatProviderReference } from "@stackwright/mux/router";
import { EngineError } from "../errors.ts";
import type { StepAction, StepName, StepStatus } from "../events.ts";
import { shownId } from "../plan/shown-id.ts";
import { upgradeObject } from "../planner/read-object.ts";
import { resourceOf } from "../state/check-state.ts";
import { objectKey } from "../state/state-object.ts";
import type { Target } from "../walk/recorder.ts";
import { readDeferredData, recordData } from "./apply-data.ts";
import { applyManagedObject } from "./apply-managed.ts";
import type { ApplyRun } from "./apply-run.ts";
import { decideOpen } from "./deferred-checks.ts";
import { EphemeralRequirements } from "./ephemeral-requirements.ts";
import type { NodeResult } from "./execute.ts";
import type { Step, StepGraph } from "./order.ts";
import { recordImportedObject, recordObject } from "./record-object.ts";
import { removeFromState, removeObject } from "./remove-object.ts";
import { isStepComplete } from "./resume.ts";

/** Limits that a step counts against. Steps without a call, and vertices that only join edges, count against none. */
export function limitNames(step: Step | undefined): readonly string[] {
  if (step === undefined || !calls(step)) return [];
  const { provider, type } = step.change;
  // Without version and alias a reference is its source, and counts once.
  const names = new Set(["", provider.source, formatProviderReference(provider), `type:${type}`]);
  return [...names];
}

function calls({ change }: Step): boolean {
  return change.action !== "no-op" && change.action !== "forget";
}

/**
 * Runs the steps of a plan, each once, and keeps how they ended. A step whose predecessor did not end well is skipped; the
 * cause is handed on along the edges.
 */
export class StepRunner {
  readonly #run: ApplyRun;
  readonly #graph: StepGraph;
  readonly #status: (StepStatus | undefined)[] = [];
  readonly #cause: (string | undefined)[] = [];
  /** Of the steps that a vertex waits for the one that ended last, and when that was. */
  readonly #after: (StepName | undefined)[] = [];
  readonly #readyMs: number[] = [];
  readonly #begunMs: number;
  readonly #imported = new Set<string>();
  readonly #failedMakes = new Set<string>();

  readonly #ephemerals: EphemeralRequirements;

  /** What unresolved objects depend on, with one of those. */
  readonly #held = new Map<string, string>();

  constructor(run: ApplyRun, graph: StepGraph) {
    this.#run = run;
    this.#graph = graph;
    this.#begunMs = run.given.clock.monotonicMs();
    this.#ephemerals = new EphemeralRequirements(run, graph);
    const planned = new Set(run.given.plan.changes.map(objectKey));
    for (const object of run.given.writer.objects.values()) {
      // A deposed object that nothing is planned for stays, as its address is held by what is unresolved.
      const stays = object.deposed !== "" && !planned.has(objectKey(object));
      if (object.phase !== "unresolved" && !stays) continue;
      for (const { address } of object.dependencies) this.#held.set(address, object.address);
    }
  }

  run(vertex: number): void | Promise<void> {
    const step = this.#graph.steps[vertex];
    const cause = this.#cause[vertex] ?? (step && this.#holderOf(step));
    if (step === undefined) {
      // Only joins edges: what stopped one before it stops those behind it.
      if (cause !== undefined) this.#stopFollowers(vertex, cause);
      this.#leaveToFollowers(vertex, this.#after[vertex]);
      return undefined;
    }
    if (cause === undefined) return this.#perform(vertex, step);
    this.#skip(vertex, step, cause);
    return undefined;
  }

  #skip(vertex: number, step: Step, cause: string): void {
    const { address, deposed } = step.change;
    const action = actionOf(step);
    const status = "skipped" as const;
    this.#run.given.onEvent({ type: "end", address, deposed, action, status, elapsedMs: 0, cause });
    this.#end(vertex, step, status);
  }

  /**
   * An object that may exist, and would lose its dependencies: while the result of a call is unknown, the objects that
   * the call was made from have to stay.
   */
  #holderOf({ kind, change }: Step): string | undefined {
    if (kind !== "remove" || change.deposed !== "" || change.action === "forget") return undefined;
    return this.#held.get(change.address) ?? this.#held.get(resourceOf(change.address));
  }

  async #perform(vertex: number, step: Step): Promise<void> {
    const { onEvent, clock, writer } = this.#run.given;
    const { change } = step;
    const { address, deposed } = change;
    const action = actionOf(step);
    const silent = action === "record";
    const begun = clock.monotonicMs();
    let status: StepStatus;
    try {
      const closed = await this.#ephemerals.open(step);
      if (closed !== undefined) {
        this.#cause[vertex] = closed;
        this.#skip(vertex, step, closed);
        return;
      }
      if (!silent) {
        const waited = this.#waited(vertex, begun);
        onEvent({ type: "start", address, deposed, action, ...shownId(change.before), ...waited });
      }
      status = await this.#do(step);
      const blocked = status === "failed" ? this.#run.blocked.get(address) : undefined;
      if (blocked !== undefined && step.kind === "make") {
        this.#cause[vertex] = blocked;
        this.#skip(vertex, step, blocked);
        return;
      }
    } catch (error) {
      // Without the right to write nothing more can be done, for no object.
      if (
        writer.signal.aborted ||
        (error instanceof EngineError && error.code === "ENGINE_FENCE_LOST")
      )
        throw error;
      this.#run.fail(
        "Step failed",
        `${address}: ${error instanceof Error ? error.message : String(error)}`,
        address,
      );
      status = "failed";
    }
    this.#end(vertex, step, status);
    if (silent && status === "done") return;
    const elapsedMs = clock.monotonicMs() - begun;
    const value = this.#run.slot(change)?.value;
    onEvent({
      type: "end",
      address,
      deposed,
      action,
      status,
      elapsedMs,
      ...shownId(step.kind === "make" ? value : undefined),
    });
  }

  async #do(step: Step): Promise<StepStatus> {
    const { kind, change } = step;
    const { writer, plan } = this.#run.given;
    if (isStepComplete(plan, writer, step)) return this.#adoptResult(step);
    const givesUp = change.action === "forget" || (kind === "remove" && change.action === "no-op");
    if (givesUp) return removeFromState(this.#run, change);
    const ready = await this.#run.provider(change);
    if (ready === undefined) return "failed";
    if (change.importing !== undefined && !this.#imported.has(change.address)) {
      this.#imported.add(change.address);
      await recordImportedObject(this.#run, change, ready, kind);
    }
    if (kind === "remove") return removeObject(this.#run, change, ready, step.early === true);
    const kept =
      change.action === "no-op" && plan.mode === "normal" ? this.#run.slot(change) : undefined;
    if (kept !== undefined && !(await decideOpen(this.#run, change, kept))) return "failed";
    if (change.mode === "data" && change.action === "no-op") {
      if (change.record && change.after !== undefined)
        await recordData(this.#run, change, ready, change.after);
      return "done";
    }
    const slot = this.#run.slot(change);
    if (plan.mode === "refresh-only" || slot === undefined)
      return recordObject(this.#run, change, ready);
    if (change.action === "read") return readDeferredData(this.#run, change, ready, slot);
    if (change.action === "no-op") return recordObject(this.#run, change, ready);
    if (change.action === "create") await removeFromState(this.#run, change);
    return applyManagedObject(this.#run, change, ready, slot);
  }

  /** A step that an earlier part of the same run has done: only its value is needed. */
  async #adoptResult({ kind, change }: Step): Promise<StepStatus> {
    const slot = this.#run.slot(change);
    const object = this.#run.given.writer.object(change.address);
    if (kind === "remove" || slot === undefined || object === undefined) return "done";
    const ready = await this.#run.provider(change);
    if (ready === undefined) return "failed";
    const value = await upgradeObject(object, { use: ready.use, report: () => undefined });
    if (value === undefined) return "failed";
    slot.value = value;
    return object.phase === "tainted" ? "tainted" : "done";
  }

  #end(vertex: number, step: Step, status: StepStatus): void {
    this.#status[vertex] = status;
    this.#ephemerals.over(step);
    const { address, deposed } = step.change;
    const action = actionOf(step);
    // What has no events of its own is passed over.
    this.#leaveToFollowers(
      vertex,
      action === "record" && status === "done" ? this.#after[vertex] : { address, deposed, action },
    );
    if (status === "done") return;
    if (step.kind === "make") this.#failedMakes.add(step.change.address);
    const cause = this.#cause[vertex] ?? step.change.address;
    this.#stopFollowers(vertex, cause);
  }

  /** Those that wait for a vertex begin after it, if nothing else that they wait for ends later. */
  #leaveToFollowers(vertex: number, last: StepName | undefined): void {
    const nowMs = this.#run.given.clock.monotonicMs();
    for (const follower of this.#graph.next[vertex] ?? []) {
      this.#after[follower] = last;
      this.#readyMs[follower] = nowMs;
    }
  }

  /** What a step has waited for until now. */
  #waited(
    vertex: number,
    nowMs: number,
  ): { readonly after?: StepName; readonly queuedMs?: number } {
    const after = this.#after[vertex];
    const queuedMs = Math.floor(nowMs - (this.#readyMs[vertex] ?? this.#begunMs));
    return { ...(after !== undefined && { after }), ...(queuedMs > 0 && { queuedMs }) };
  }

  #stopFollowers(vertex: number, cause: string): void {
    for (const follower of this.#graph.next[vertex] ?? []) this.#cause[follower] ??= cause;
  }

  get isComplete(): boolean {
    return this.#graph.steps.every((_, vertex) => this.#status[vertex] === "done");
  }

  /** Whether something has the value that the plan promised. */
  isMade(target: Target): boolean {
    if (target.kind === "instance")
      return target.value !== undefined && !this.#failedMakes.has(target.address);
    return [...target.slots.values()].every((slot) => this.isMade(slot));
  }

  results(): readonly NodeResult[] {
    return this.#graph.steps.map(({ kind, change }, vertex) => {
      const status = this.#status[vertex] ?? "not-started";
      const cause = status === "skipped" ? this.#cause[vertex] : undefined;
      const { address, deposed } = change;
      return { address, deposed, step: kind, status, ...(cause !== undefined && { cause }) };
    });
  }
}

function actionOf({ kind, change }: Step): StepAction {
  if (kind === "remove") {
    if (change.action === "forget") return "forget";
    return change.action === "no-op" ? "record" : "delete";
  }
  if (change.action === "update" || change.action === "read") return change.action;
  if (change.action !== "no-op") return "create";
  return change.importing === undefined ? "record" : "import";
}
