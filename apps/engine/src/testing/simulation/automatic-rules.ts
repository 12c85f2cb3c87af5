import {
  Run_Phase as P,
  type Run,
  type RunTrigger,
  type Schedule,
} from "@stackwright/proto/stackwright";
import { ENDS } from "./run-phases.ts";
import type { RunRecords } from "./run-records.ts";
import type { Commit } from "./sim-store.ts";

/** How far behind a sweep may be, with a clock that is slow. */
const OVERDUE_MS = 45_000;

/** What schedules and triggers request: rules 13 and 14 of `RunModel`. */
export class AutomaticRules {
  readonly #records: RunRecords;

  constructor(records: RunRecords) {
    this.#records = records;
  }

  /** Compares sources after a batch with those before. */
  check(
    commit: Commit,
    schedules: ReadonlyMap<string, Schedule>,
    triggers: ReadonlyMap<string, RunTrigger>,
    made: readonly Run[],
  ): void {
    for (const run of made) {
      // A further stage is requested by the one before it.
      if (!run.automatic || (run.stage?.previous ?? "") !== "") continue;
      if (run.background) this.#checkScheduled(commit, run, schedules);
      else this.#checkTriggered(run, triggers);
    }
    for (const [name, after] of this.#records.schedules.rows) {
      const before = schedules.get(name);
      if (before === undefined || before === after || before.nextAtMs === after.nextAtMs) continue;
      const hasRun = made.some(({ id }) => id === after.lastRun);
      if (!hasRun && after.lastProblem === "") {
        this.#records.fail(13, `the schedule ${after.id} leaves a time out, and does not say why`);
      }
    }
    for (const [name, after] of this.#records.triggers.rows) {
      const before = triggers.get(name);
      if (before === undefined || before === after || before.revision === after.revision) continue;
      const newest = this.#revisionOf(after);
      if (after.revision > newest || after.revision < before.revision) {
        const text = `the trigger ${after.id} is at ${after.revision}, and was at ${before.revision} of ${newest}`;
        this.#records.fail(14, text);
      }
      const run = this.#records.runs.get(after.lastRun);
      const waits = run?.phase === P.PHASE_QUEUED && run.cause.startsWith("trigger:");
      if (!waits && after.lastProblem === "") {
        this.#records.fail(14, `the trigger ${after.id} takes note of a change, and no run waits`);
      }
    }
  }

  /** Nothing is overdue where nothing moves any more. */
  checkRest(nowMs: number): void {
    for (const { id, nextAtMs } of this.#records.schedules.rows.values()) {
      if (nextAtMs !== 0n && Number(nextAtMs) < nowMs - OVERDUE_MS) {
        this.#records.fail(13, `the schedule ${id} is due since ${nowMs - Number(nextAtMs)} ms`);
      }
    }
    for (const trigger of this.#records.triggers.rows.values()) {
      const newest = this.#revisionOf(trigger);
      if (trigger.revision !== newest) {
        this.#records.fail(14, `the trigger ${trigger.id} missed the outputs of ${newest}`);
      }
    }
  }

  #checkScheduled({ process }: Commit, run: Run, schedules: ReadonlyMap<string, Schedule>): void {
    const what = `the run ${this.#records.short(run.id)} of a schedule`;
    const entry = [...this.#records.schedules.rows].find(([, { lastRun }]) => lastRun === run.id);
    const [name = "", schedule] = entry ?? [];
    const before = schedules.get(name);
    if (schedule === undefined || before === undefined || before.nextAtMs === schedule.nextAtMs) {
      return this.#records.fail(13, `${what} is requested without its schedule`);
    }
    this.#records.sources.set(run.id, schedule);
    if (Number(before.nextAtMs) > process.clock.wallMs()) {
      this.#records.fail(13, `${what} is requested before its time`);
    }
    const former = this.#records.runs.get(before.lastRun);
    if (former !== undefined && !ENDS.has(former.phase)) {
      this.#records.fail(13, `${what} is requested while the one before has not ended`);
    }
    if (run.actor !== schedule.actor) this.#records.fail(13, `${what} has another author`);
  }

  #checkTriggered(run: Run, triggers: ReadonlyMap<string, RunTrigger>): void {
    const what = `the run ${this.#records.short(run.id)} of a trigger`;
    const entry = [...this.#records.triggers.rows].find(([, { lastRun }]) => lastRun === run.id);
    const [name = "", trigger] = entry ?? [];
    const before = triggers.get(name);
    if (trigger === undefined || before === undefined || before.revision >= trigger.revision) {
      return this.#records.fail(14, `${what} is requested without a change`);
    }
    this.#records.sources.set(run.id, trigger);
    if (run.actor !== trigger.actor) this.#records.fail(14, `${what} has another author`);
    const waiting = this.#records.queues.rows.get(run.stack);
    const isQueued = ({ id }: Run): boolean =>
      waiting?.current === id || waiting?.pending.includes(id) === true;
    const alike = this.#records
      .runsOf(run.stack)
      .filter(
        (one) =>
          one.id !== run.id &&
          one.phase === P.PHASE_QUEUED &&
          isQueued(one) &&
          this.#records.sourceOf(one) !== undefined &&
          !one.background &&
          one.mode === run.mode &&
          one.autoApplyRequested === run.autoApplyRequested &&
          one.autoApply === run.autoApply,
      );
    if (alike.length > 0) this.#records.fail(14, `${what} is requested while one waits already`);
  }

  #revisionOf({ producer }: RunTrigger): bigint {
    return this.#records.outputs.rows.get(producer)?.revision ?? 0n;
  }
}
