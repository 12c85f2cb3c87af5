import {
  type Fence,
  Run_Phase as P,
  PlanSet_Phase,
  type Run,
  type RunTicket,
  StackHead,
  RunTicket_Step as Step,
} from "@stackwright/proto/stackwright";
import { AutomaticRules } from "./automatic-rules.ts";
import { DeletionRules } from "./deletion-rules.ts";
import { EXPIRED, ExpiryRules, limitOf } from "./expiry-rules.ts";
import { checkLog } from "./log-rule.ts";
import { PlanRules } from "./plan-rules.ts";
import { ENDS, NEXT_PHASES, nameOf } from "./run-phases.ts";
import { isOn, isPlanOnly, type RunRecords } from "./run-records.ts";
import { isEnded, SetRules } from "./set-rules.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimRequest } from "./sim-request.ts";
import type { Commit, CommittedWrite } from "./sim-store.ts";
import type { SimEffect } from "./sim-world.ts";
import { StageRules } from "./stage-rules.ts";
import { type ExecutionState, TicketRules } from "./ticket-rules.ts";

/** Claims without a result after which a run that changed nothing fails. */
const ATTEMPTS = 3;

/**
 * The second opinion on the run layer: it sees each commit, in order, and each effect on real objects, and knows what users asked for.
 * Of the run layer it uses nothing. Each violation is one sentence that begins with the number of its rule:
 *
 * 1. A run goes only where the documentation says, each step by who may do it; what has ended does not change any more.
 * 2. The queue of a stack is its runs that have not ended, in the order of their numbers, which have no gap.
 * 3. A run has a ticket exactly while it needs or has a worker, for the step that it is at.
 * 4. A plan is applied after as many approvals of that very plan as its project wants, by those who may give them, or by a run that was
 *    allowed to go without.
 * 5. A claim is made by a worker that has its lease, of a free ticket, past no lock and no freeze; only it, or who took the lease of the
 *    dead worker, ends it.
 * 6. A stack has one writer at a time, each under a higher epoch than those before.
 * 7. The log of a run has no gap, tells each transition, and ends with the run.
 * 8. Objects are made once, of the approved plan, by the run whose turn it is, under the fence of its stack; an end says what was made.
 * 9. A request is done once or not at all, as its answer says, and has one entry in the audit trail.
 * 10. Who comes first in the order of tickets is not passed over.
 * 11. Attempts are counted for workers and executions that were lost, and a run fails for them only when that many were.
 * 12. Without faults every run ends, or waits for something that has a name.
 * 13. A schedule requests one run for each of its times, not before it, and none while its last one has not ended.
 * 14. Each change of the outputs that a trigger follows is covered by one run that is planned after it.
 * 15. A plan that policies forbid is not approved; one that they may let pass needs a permission for that very plan.
 * 16. What a stage leaves is planned by one further run, which is requested with its end as applied and nowhere else.
 * 17. A plan set is of the runs that were requested for it, goes only where the documentation says, and shares no stack with another one.
 * 18. Its plans are approved together, as they were shown, and each is applied behind those that it was made with.
 * 19. They are applied one after the other while the set is; it ends as its runs do, or they end as it does.
 * 20. What is not approved within the time of its project, or not begun while its approvals count, ends a minute later and not before, and never while a
 *     worker has it; nothing of it is applied afterwards.
 * 21. A stack is deleted by a request, while no run and no set of it is open and no lock is on it; nothing of it runs afterwards, and all that was of it goes, an
 *     hour later also what was written late.
 */
export class RunModel {
  readonly records: RunRecords;
  readonly #tickets: TicketRules;
  readonly #plans: PlanRules;
  readonly #automatic: AutomaticRules;
  readonly #stages: StageRules;
  readonly #sets: SetRules;
  readonly #expiry: ExpiryRules;
  readonly deletions: DeletionRules;
  /** Newest epoch under which something was applied, by stack. */
  readonly #epochs = new Map<string, bigint>();

  constructor(records: RunRecords) {
    this.records = records;
    this.#tickets = new TicketRules(records);
    this.#plans = new PlanRules(records);
    this.#automatic = new AutomaticRules(records);
    this.#stages = new StageRules(records);
    this.#expiry = new ExpiryRules(records);
    this.deletions = new DeletionRules(records);
    this.#sets = new SetRules(records, this.#expiry);
  }

  /** An execution was lost. */
  lost(run: string): void {
    this.#tickets.lost(run);
  }

  /** The execution of a step begins in a process of a worker, or is over. */
  executes(run: string, process: SimProcess, state: ExecutionState): void {
    this.#tickets.executes(run, process, state);
  }

  /** A batch took place. */
  take(commit: Commit): void {
    const tickets = new Map(this.records.tickets.rows);
    const fences = new Map(this.records.fences.rows);
    const schedules = new Map(this.records.schedules.rows);
    const triggers = new Map(this.records.triggers.rows);
    const sets = new Map(this.records.sets.rows);
    const rest = {
      stacks: new Map(this.records.stacks.rows),
      heads: new Map(this.records.heads.rows),
      deletions: new Map(this.records.deletions.rows),
    };
    const changed: (readonly [Run | undefined, Run])[] = [];
    const stacks = new Set<string>();
    let entries = 0;
    for (const write of commit.writes) {
      const { kind, name, resource } = write;
      const [stack = ""] = name.split(".");
      switch (kind) {
        case "Run": {
          const [, id = ""] = name.split(".");
          const before = this.records.runs.get(id);
          this.records.runTable.take(write);
          const after = this.records.runTable.rows.get(name);
          if (after === undefined) {
            if (!this.deletions.isGone(stack)) this.records.fail(1, `the run ${id} was removed`);
          } else {
            this.records.runs.set(id, after);
            changed.push([before, after]);
          }
          stacks.add(stack);
          break;
        }
        case "RunTicket":
          this.records.tickets.take(write);
          stacks.add(this.records.tickets.rows.get(name)?.stack ?? tickets.get(name)?.stack ?? "");
          break;
        case "StackQueue":
          this.records.queues.take(write);
          stacks.add(stack);
          break;
        case "RunLog":
          this.records.logs.take(write);
          break;
        case "RunLogSegment":
          if (resource !== undefined && this.records.segments.rows.has(name))
            this.records.fail(7, `the segment ${name} was written again`);
          this.records.segments.take(write);
          break;
        case "Fence":
          this.records.fences.take(write);
          break;
        case "StackLock":
          this.records.locks.take(write);
          this.#tickets.heldUp(commit.atMs);
          break;
        case "Freeze":
          // That of a project is known by its namespace.
          this.records.freezes.take(write, name === "project" ? write.tenancy.namespace : name);
          this.#tickets.heldUp(commit.atMs);
          break;
        case "StackHead":
          this.#checkHead(write, fences);
          this.records.heads.take(write);
          break;
        case "Schedule":
          this.records.schedules.take(write);
          break;
        case "RunTrigger":
          this.records.triggers.take(write);
          break;
        case "StackOutputs":
          this.records.outputs.take(write);
          break;
        case "Project":
          this.records.projects.take(write);
          break;
        case "PlanSet":
          this.records.sets.take(write);
          this.records.runsOfSet(name).forEach(({ stack: of }) => stacks.add(of));
          break;
        case "Stack":
          this.records.stacks.take(write);
          break;
        case "StackDeletion":
          this.records.deletions.take(write);
          break;
        case "SimAudit":
          if (resource !== undefined) entries += 1;
          break;
        default:
      }
    }
    this.deletions.check(commit, rest);
    this.#checkRequest(commit, entries);
    const made = changed.flatMap(([before, after]) => (before === undefined ? [after] : []));
    this.#automatic.check(commit, schedules, triggers, made);
    for (const [before, after] of changed) this.#checkRun(commit, before, after, tickets, fences);
    this.#stages.check(changed);
    this.#sets.check(commit, sets, changed);
    this.#expiry.check(commit, changed, tickets, sets);
    this.#tickets.check(commit, tickets, fences);
    for (const stack of stacks) this.#checkStack(stack);
    for (const [, run] of changed) checkLog(this.records, run);
  }

  /** A real object is made. */
  effect(effect: SimEffect): void {
    const { stack, run: id, digest, object, owner, epoch } = effect;
    const what = `object ${object} of the run ${this.records.short(id)}`;
    const run = this.records.runs.get(id);
    if (run === undefined) return this.records.fail(8, `${what}: there is no such run`);
    this.#expiry.made(run);
    if (this.deletions.isGone(stack))
      this.records.fail(21, `${what} is made, and its stack is gone`);
    if (run.phase !== P.PHASE_APPLYING)
      this.records.fail(8, `${what} is made while it is ${nameOf(run.phase)}`);
    if (this.records.queues.rows.get(stack)?.current !== id)
      this.records.fail(8, `${what} is made out of turn`);
    if (run.planDigest !== digest) this.records.fail(8, `${what} is of another plan`);
    if (run.epoch !== epoch)
      this.records.fail(6, `${what} is made under the epoch ${epoch} of ${run.epoch}`);
    const fence = this.records.fences.rows.get(stack);
    if (fence?.owner !== owner || fence.epoch !== epoch) {
      this.records.fail(6, `${what} is made without the fence of its stack`);
    }
    if (this.records.world.of(id).some((one) => one.object === object))
      this.records.fail(8, `${what} is made twice`);
    this.#plans.checkApprovals(run, what);
  }

  /** A request was answered: `ok`, the code of a refusal, or `unknown`. */
  answered(request: SimRequest): void {
    const { id, kind, outcome, commits } = request;
    if (outcome === undefined || outcome === "unknown") return;
    if (outcome !== "ok" && commits > 0) {
      this.records.fail(9, `${kind} ${id} was refused as ${outcome}, and was done`);
    }
    if (outcome === "ok" && commits === 0 && !request.mayBeIdle) {
      this.records.fail(9, `${kind} ${id} was answered, and was not done`);
    }
  }

  /** Nothing goes wrong any more, and some time has passed: what is left waits for something that has a name. */
  checkRest(nowMs: number): void {
    this.#automatic.checkRest(nowMs);
    this.#expiry.checkRest(nowMs);
    this.#sets.checkRest();
    this.deletions.checkRest();
    for (const run of this.records.runs.values()) {
      const reason = this.#reasonOf(run, nowMs);
      if (reason === undefined) {
        this.records.fail(
          12,
          `the run ${this.records.short(run.id)} is ${nameOf(run.phase)}, and waits for nothing`,
        );
      }
    }
    for (const request of this.records.requests.values()) {
      if (request.mayBeLost || request.outcome !== undefined) continue;
      this.records.fail(12, `${request.kind} ${request.id} was never answered`);
    }
  }

  /** Why a run is where it is. */
  #reasonOf(run: Run, nowMs: number): string | undefined {
    if (ENDS.has(run.phase)) return "ended";
    if (run.phase === P.PHASE_AWAITING_APPROVAL) return "approval";
    if (run.phase === P.PHASE_POLICY_FAILED) return "policy";
    if (!isPlanOnly(run) && this.records.queues.rows.get(run.stack)?.current !== run.id)
      return "turn";
    const isPlan = run.phase === P.PHASE_QUEUED;
    const isApply = run.phase === P.PHASE_APPROVED;
    if (isPlan && this.#waitsForPlan(run)) return "plan of another stack";
    const lock = this.records.locks.rows.get(run.stack);
    if ((isPlan || isApply) && !isPlanOnly(run) && isOn(lock, nowMs)) return "lock";
    const freezes = [run.stack, this.records.projectOf(run.stack)].map((name) =>
      this.records.freezes.rows.get(name),
    );
    if (isApply && run.freezeOverride === undefined && freezes.some((one) => isOn(one, nowMs))) {
      return "freeze";
    }
    // It ends soon: rule 20.
    if (isApply && nowMs >= limitOf(run)) return "end of its approval";
    return undefined;
  }

  /** Whether a run waits for the plan of another stack of its set, which is looked at for itself. */
  #waitsForPlan(run: Run): boolean {
    const set = this.records.setOf(run);
    if (set === undefined || this.records.ticketOf(this.records.tickets.rows, run.id) !== undefined)
      return false;
    const waitsFor = set.members.find((member) => member.run === run.id)?.waitsFor ?? "";
    const awaited = set.members.find(({ stack }) => stack === waitsFor)?.run ?? "";
    return isEnded(set.phase) || this.records.runs.get(awaited)?.planDigest === "";
  }

  #checkRequest({ request: id, writes, process }: Commit, entries: number): void {
    const request = id === undefined ? undefined : this.records.requests.get(id);
    // The lease that keeps others from the state of a stack while it is deleted.
    if (writes.every(({ kind }) => kind === "Fence" || kind === "Heartbeat")) return;
    if (request === undefined) {
      if (entries > 0)
        this.records.fail(9, `${process.name} writes an audit entry without a request`);
      return;
    }
    request.commits += 1;
    const what = `${request.kind} ${request.id}`;
    if (request.commits > 1) this.records.fail(9, `${what} is done ${request.commits} times`);
    if (entries !== 1)
      this.records.fail(9, `${what} has ${entries} audit entries with its ${writes.length} writes`);
    if (request.outcome !== undefined && request.outcome !== "unknown") {
      this.records.fail(9, `${what} is done after its answer ${request.outcome}`);
    }
  }

  #checkRun(
    commit: Commit,
    before: Run | undefined,
    after: Run,
    tickets: ReadonlyMap<string, RunTicket>,
    fences: ReadonlyMap<string, Fence>,
  ): void {
    const what = `the run ${this.records.short(after.id)}`;
    if (before !== undefined && ENDS.has(before.phase)) {
      return this.records.fail(1, `${what} is written after its end as ${nameOf(before.phase)}`);
    }
    if (before === undefined) this.#checkNew(commit, after);
    const known = before?.history.length ?? 0;
    let phase = before?.phase ?? P.PHASE_UNSPECIFIED;
    for (const { from, to, actor } of after.history.slice(known)) {
      this.records.trace.push(
        `${commit.atMs} ${commit.process.name} ${commit.request ?? ""} ${this.records.short(after.id)} ${nameOf(from)} > ${nameOf(to)} ${after.reason}`,
      );
      if (from !== phase)
        this.records.fail(1, `${what} goes from ${nameOf(from)}, and was ${nameOf(phase)}`);
      if (NEXT_PHASES.get(from)?.includes(to) !== true) {
        this.records.fail(1, `${what} goes from ${nameOf(from)} to ${nameOf(to)}`);
      }
      this.#plans.checkPolicies(after, to, `${what} goes to ${nameOf(to)}`);
      if (before !== undefined)
        this.#checkMover(commit, after, { from, to, actor }, tickets, fences);
      phase = to;
    }
    if (phase !== after.phase)
      this.records.fail(1, `${what} is ${nameOf(after.phase)} without a transition`);
    // Where no further stage is requested, the reason says why: rule 16.
    const leaves = after.phase === P.PHASE_APPLIED && (after.stage?.left ?? []).length > 0;
    if (FINE.has(after.phase) && after.reason !== "" && !leaves) {
      this.records.fail(1, `${what} is ${nameOf(after.phase)}, and says "${after.reason}"`);
    }
    this.#plans.checkPlan(before, after, what);
    this.#plans.checkKept(after, what);
    if (after.phase === P.PHASE_APPROVED && before?.phase !== P.PHASE_APPROVED) {
      this.#plans.checkApprovals(after, what);
    }
    if (ENDS.has(after.phase)) this.#checkEnd(before, after, tickets, what);
    // Each begin, also of an apply that another worker has begun before.
    const begins = after.history.slice(known).some(({ to }) => to === P.PHASE_APPLYING);
    if (after.phase === P.PHASE_APPLYING && begins) {
      const fence = this.records.fences.rows.get(after.stack);
      if (fence === undefined || fence.owner === "" || fence.epoch !== after.epoch) {
        this.records.fail(6, `${what} is applied without the fence of its stack`);
      }
      if (after.epoch <= (this.#epochs.get(after.stack) ?? 0n)) {
        this.records.fail(6, `${what} is applied under the epoch ${after.epoch}, which is not new`);
      }
      this.#epochs.set(after.stack, after.epoch);
    }
  }

  #checkNew({ request: id }: Commit, run: Run): void {
    const request = id === undefined ? undefined : this.records.requests.get(id);
    const what = `the run ${this.records.short(run.id)}`;
    // Those of a set are requested by whoever looks at it: rule 17.
    const isAsked = run.planSet === "" && (!run.automatic || request !== undefined);
    if (
      isAsked &&
      (request?.kind !== "enqueue" || request.run !== run.id || request.actor !== run.actor)
    ) {
      this.records.fail(1, `${what} is new without a request of its user`);
    }
    const numbers = this.records.runsOf(run.stack).map(({ number }) => Number(number));
    if (numbers.some((number, index) => number !== index + 1)) {
      this.records.fail(
        2,
        `${what} has the number ${run.number}, and the runs have ${numbers.join(" ")}`,
      );
    }
  }

  /** Who moves a run may do so. */
  #checkMover(
    { request: id, process }: Commit,
    run: Run,
    { from, to, actor }: { readonly from: P; readonly to: P; readonly actor: string },
    tickets: ReadonlyMap<string, RunTicket>,
    fences: ReadonlyMap<string, Fence>,
  ): void {
    const what = `the run ${this.records.short(run.id)} goes from ${nameOf(from)} to ${nameOf(to)}`;
    const request = id === undefined ? undefined : this.records.requests.get(id);
    if (request !== undefined) {
      const kinds: Readonly<Partial<Record<P, string>>> = {
        [P.PHASE_AWAITING_APPROVAL]: "pass",
        [P.PHASE_APPROVED]: "approve",
        [P.PHASE_DISCARDED]: "discard",
        [P.PHASE_CANCELED]: "cancel",
        [P.PHASE_SUPERSEDED]: "enqueue",
      };
      if (kinds[to] !== request.kind || request.actor !== actor) {
        return this.records.fail(1, `${what} by ${request.kind} of ${request.actor}`);
      }
      if (request.kind !== "enqueue" && request.run !== run.id) {
        return this.records.fail(1, `${what} by a request for another run`);
      }
      if (to === P.PHASE_SUPERSEDED) this.#plans.checkSupersede(run, from, what);
      const claim = this.records.ticketOf(tickets, run.id)?.claim;
      if (claim !== undefined) this.records.fail(5, `${what} while a worker has it`);
      return;
    }
    if (to === P.PHASE_PREPARING) return;
    if (to === P.PHASE_SUPERSEDED) {
      const by = this.records.runs.get(run.supersededBy);
      if (by === undefined || by.planSet === "" || by.stack !== run.stack)
        this.records.fail(1, `${what} without a newer run`);
      this.#plans.checkSupersede(run, from, what);
    }
    // Whether its time is over, and no worker has it: rule 20.
    if (to === P.PHASE_DISCARDED && run.reasonCode === EXPIRED) return;
    const claim = this.records.ticketOf(tickets, run.id)?.claim;
    if (FOLLOWS.has(to) && claim === undefined && run.planSet !== "") {
      // It follows its set, by whoever looked at that.
      const set = this.records.setOf(run);
      const isRight =
        to === P.PHASE_APPROVED
          ? set?.phase === PlanSet_Phase.PHASE_APPLYING
          : set && isEnded(set.phase);
      if (isRight !== true) this.records.fail(19, `${what} while its set is at ${set?.phase}`);
      return;
    }
    if (to === P.PHASE_SUPERSEDED && claim === undefined) return;
    if (claim === undefined)
      return this.records.fail(5, `${what} by ${process.name} without a claim`);
    if (claim.worker === actor) return;
    const fence = fences.get(`worker.${claim.worker}`);
    if (fence?.owner !== actor || fence.epoch <= claim.epoch) {
      this.records.fail(5, `${what} by ${process.name}, while another worker has it`);
    }
  }

  #checkEnd(
    before: Run | undefined,
    run: Run,
    tickets: ReadonlyMap<string, RunTicket>,
    what: string,
  ): void {
    const made = this.records.world.of(run.id).length;
    const plan = this.records.world.plans.get(run.planDigest);
    const name = nameOf(run.phase);
    if (run.phase === P.PHASE_APPLIED) {
      if (plan === undefined || made !== plan.objects) {
        this.records.fail(
          8,
          `${what} is ${name}, and ${made} of ${plan?.objects ?? 0} objects were made`,
        );
      }
    } else if (run.phase === P.PHASE_PARTIALLY_APPLIED) {
      // Nor is known what a worker that ended has changed, as the states here are none that a server can read.
      const isLost = run.reasonCode === "result_lost" || run.reasonCode === "worker_ended";
      if (made === 0 && !isLost) this.records.fail(8, `${what} is ${name}, and nothing was made`);
    } else if (made > 0 && run.reasonCode !== "recovery_failed") {
      this.records.fail(8, `${what} is ${name}, and ${made} objects were made`);
    }
    const isOpen = this.records.heads.rows.get(run.stack)?.run === run.id;
    if (isOpen && run.reasonCode !== "recovery_failed") {
      this.records.fail(8, `${what} is ${name}, and its state is still open`);
    }
    const isLost = run.reasonCode === "worker_lost" && before?.phase !== P.PHASE_APPLYING;
    // This very end may say that a worker was lost.
    const { worker = "" } = this.records.ticketOf(tickets, run.id)?.claim ?? {};
    const isRelief = run.history.at(-1)?.actor !== worker;
    // So may one of the worker itself, which never had the step or could not store its result.
    const isLastLoss = isRelief || this.#tickets.hasNoExecution(run.id, worker);
    const lost = this.#tickets.lossesOf(run.id) + (isLastLoss ? 1 : 0);
    if (isLost && lost < ATTEMPTS) {
      this.records.fail(11, `${what} failed as worker_lost after ${lost} losses`);
    }
  }

  #checkStack(stack: string): void {
    if (this.deletions.isGone(stack)) return;
    const runs = this.records.runsOf(stack);
    const open = runs.filter(({ phase }) => !ENDS.has(phase));
    const waiting = open.filter((run) => !isPlanOnly(run)).map(({ id }) => id);
    const plans = open.filter(isPlanOnly).map(({ id }) => id);
    const queue = this.records.queues.rows.get(stack);
    const queued =
      queue === undefined ? [] : [queue.current, ...queue.pending].filter((id) => id !== "");
    if (queued.join() !== waiting.join()) {
      this.records.fail(
        2,
        `the queue is ${this.records.list(queued)}, and the runs are ${this.records.list(waiting)}`,
      );
    }
    if ((queue?.speculative ?? []).join() !== plans.join()) {
      this.records.fail(
        2,
        `the plans are ${this.records.list(queue?.speculative ?? [])}, and are ${this.records.list(plans)}`,
      );
    }
    for (const run of runs) {
      const ticket = this.records.ticketOf(this.records.tickets.rows, run.id);
      const isTurn = isPlanOnly(run) || waiting[0] === run.id;
      const steps = isTurn ? (STEPS.get(run.phase) ?? []) : [];
      const what = `the run ${this.records.short(run.id)}, which is ${nameOf(run.phase)},`;
      if (ticket === undefined) {
        const member = this.records.setOf(run)?.members.find((one) => one.run === run.id);
        // It gets one with the plan that it waits for.
        const mayWait = run.phase === P.PHASE_QUEUED && (member?.waitsFor ?? "") !== "";
        if (steps.length > 0 && !mayWait) this.records.fail(3, `${what} has no ticket`);
      } else if (!steps.includes(ticket.step))
        this.records.fail(3, `${what} has a ticket for step ${ticket.step}`);
      const isClaimed = ticket?.claim !== undefined;
      const needsClaim = run.phase === P.PHASE_PREPARING || run.phase === P.PHASE_PLANNING;
      if (needsClaim && !isClaimed) this.records.fail(3, `${what} has no worker`);
      if (run.phase === P.PHASE_QUEUED && isClaimed) this.records.fail(3, `${what} has a worker`);
    }
  }

  #checkHead({ name, resource }: CommittedWrite, fences: ReadonlyMap<string, Fence>): void {
    if (resource === undefined) return;
    const { run, revision } = StackHead.decode(resource.data?.value ?? new Uint8Array());
    const before = this.records.heads.rows.get(name);
    if (revision < (before?.revision ?? 0n))
      this.records.fail(6, `the state goes back to ${revision}`);
    if ((fences.get(name)?.owner ?? "") === "")
      this.records.fail(6, "the state is written without a fence");
    const found = this.records.runs.get(run);
    if (run !== "" && found?.phase !== P.PHASE_APPLYING) {
      this.records.fail(8, `the state is opened by a run that is ${found && nameOf(found.phase)}`);
    }
  }
}

/** Phases of a run of which nothing has to be said. */
const FINE: ReadonlySet<P> = new Set([
  P.PHASE_PREPARING,
  P.PHASE_PLANNING,
  P.PHASE_AWAITING_APPROVAL,
  P.PHASE_APPROVED,
  P.PHASE_PLAN_FINISHED,
  P.PHASE_NO_CHANGES,
  P.PHASE_APPLIED,
]);

/** Phases to which a run goes with its set. */
const FOLLOWS: ReadonlySet<P> = new Set([P.PHASE_APPROVED, P.PHASE_DISCARDED, P.PHASE_CANCELED]);

const STEPS: ReadonlyMap<P, readonly Step[]> = new Map([
  [P.PHASE_QUEUED, [Step.STEP_PLAN]],
  [P.PHASE_PREPARING, [Step.STEP_PLAN]],
  [P.PHASE_PLANNING, [Step.STEP_PLAN]],
  [P.PHASE_APPROVED, [Step.STEP_APPLY]],
  [P.PHASE_APPLYING, [Step.STEP_APPLY, Step.STEP_RECOVER]],
]);
