import {
  Run,
  Run_Mode,
  RunTicket,
  type Stack,
  type StackDeletion,
  type StackHead,
} from "@stackwright/proto/stackwright";
import { ENDS, nameOf } from "./run-phases.ts";
import { isOn, type RunRecords } from "./run-records.ts";
import { isEnded } from "./set-rules.ts";
import type { Commit, CommittedWrite } from "./sim-store.ts";

/** Kinds of which nothing is written for a stack that is gone, however late. Others are removed an hour later. */
const NEVER_LATE: ReadonlySet<string> = new Set([
  "Run",
  "RunLog",
  "RunLogSegment",
  "StackHead",
  "StackOutputs",
]);

/** What the executors of a simulation keep beside the kinds that the product knows. */
const OF_EXECUTORS: ReadonlySet<string> = new Set(["SimIntent", "SimRevision"]);

/** Stacks that are deleted, and what is left of them: rule 21 of `RunModel`. */
export class DeletionRules {
  readonly #records: RunRecords;
  /** Ids of the stacks that are gone, with their names. */
  readonly #gone = new Map<string, string>();

  constructor(records: RunRecords) {
    this.#records = records;
  }

  /** Ids of the stacks that are gone. */
  get gone(): readonly string[] {
    return [...this.#gone.keys()];
  }

  isGone(stack: string): boolean {
    return this.#gone.has(stack);
  }

  /** Whether something of a stack that is gone is still to be removed, as far as is known. */
  get isUnfinished(): boolean {
    return this.gone.some((stack) => this.#records.deletions.rows.get(stack)?.removedAtMs === 0n);
  }

  /** Compares a batch with what there was before it. */
  check(
    commit: Commit,
    before: {
      readonly stacks: ReadonlyMap<string, Stack>;
      readonly heads: ReadonlyMap<string, StackHead>;
      readonly deletions: ReadonlyMap<string, StackDeletion>;
    },
  ): void {
    for (const write of commit.writes) this.#checkLate(write);
    for (const { kind, name, resource } of commit.writes) {
      const stack = before.stacks.get(name);
      if (kind !== "Stack" || resource !== undefined || stack === undefined) continue;
      this.#checkEnd(commit, name, stack.id, before.heads.get(stack.id));
      this.#gone.set(stack.id, name);
    }
    for (const [stack, { removedAtMs }] of before.deletions) {
      const after = this.#records.deletions.rows.get(stack);
      if (after === undefined && removedAtMs === 0n)
        this.#fail(`the deletion of ${this.#gone.get(stack)} is forgotten before its end`);
    }
    for (const [stack, { removedAtMs }] of this.#records.deletions.rows) {
      const isEnd = removedAtMs !== 0n && (before.deletions.get(stack)?.removedAtMs ?? 0n) === 0n;
      if (isEnd) this.#checkRemoved(stack);
    }
  }

  /** Nothing goes wrong any more: what was begun is finished, and nothing follows what is gone. */
  checkRest(): void {
    for (const [stack, name] of this.#gone) {
      const deletion = this.#records.deletions.rows.get(stack);
      if (deletion === undefined || deletion.removedAtMs === 0n)
        this.#fail(`the deletion of ${name} is not finished`);
    }
    for (const { id, producer } of this.#records.triggers.rows.values()) {
      if (this.#gone.has(producer)) this.#fail(`the trigger ${id} follows a stack that is gone`);
    }
  }

  /** Of all that is stored once the time for late writes is over, nothing is of a stack that is gone. */
  checkLeft(kind: string, name: string): void {
    if (OF_EXECUTORS.has(kind)) return;
    const [stack = ""] = name.split(".");
    if (this.#gone.has(stack)) this.#fail(`of a stack that is gone, there is the ${kind} ${name}`);
  }

  /** A stack goes where a user asked for that, and nothing of it is at work. */
  #checkEnd(commit: Commit, name: string, stack: string, head: StackHead | undefined): void {
    const what = `the stack ${name} is deleted`;
    const request =
      commit.request === undefined ? undefined : this.#records.requests.get(commit.request);
    if (request?.kind !== "delete" || request.stack !== stack)
      this.#fail(`${what} by ${request?.kind ?? commit.process.name}`);
    for (const run of this.#records.runsOf(stack)) {
      if (!ENDS.has(run.phase))
        this.#fail(`${what}, and ${this.#records.short(run.id)} is ${nameOf(run.phase)}`);
    }
    if ((head?.run ?? "") !== "") this.#fail(`${what}, and its state is open`);
    if (isOn(this.#records.locks.rows.get(stack), commit.process.clock.wallMs()))
      this.#fail(`${what}, and it is locked`);
    for (const { id, mode, phase, members } of this.#records.sets.rows.values()) {
      const isOpen = mode === Run_Mode.MODE_APPLY && !isEnded(phase);
      if (isOpen && members.some((one) => one.stack === stack))
        this.#fail(`${what} while the set ${id} has not ended`);
    }
    if (this.#records.deletions.rows.get(stack) === undefined)
      this.#fail(`${what} without a record of that`);
  }

  /** A deletion is finished once all is removed that nothing writes late. */
  #checkRemoved(stack: string): void {
    const { runTable, logs, segments, heads, outputs } = this.#records;
    const left = [runTable, logs, segments, heads, outputs]
      .flatMap(({ rows }) => [...rows.keys()])
      .filter((name) => name.split(".")[0] === stack);
    if (left.length > 0)
      this.#fail(`the deletion of ${this.#gone.get(stack)} ends before ${left[0]} is removed`);
  }

  #checkLate({ kind, name, resource }: CommittedWrite): void {
    if (resource === undefined) return;
    const [first = ""] = name.split(".");
    const bytes = resource.data?.value ?? new Uint8Array();
    const stack = kind === "RunTicket" ? RunTicket.decode(bytes).stack : first;
    if (!this.#gone.has(stack) || (kind !== "RunTicket" && !NEVER_LATE.has(kind))) return;
    const phase = kind === "Run" ? ` as ${nameOf(Run.decode(bytes).phase)}` : "";
    this.#fail(
      `a ${kind} of the stack ${this.#gone.get(stack)} is written${phase}, and it is gone`,
    );
  }

  #fail(text: string): void {
    this.#records.fail(21, text);
  }
}
