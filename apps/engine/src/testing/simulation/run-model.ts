import {
  Fence,
  Freeze,
  Run_Phase as P,
  Project,
  Project_AutoApply,
  Project_Supersede,
  Run,
  Run_Mode,
  RunLog,
  RunLogSegment,
  RunTicket,
  StackHead,
  StackLock,
  StackQueue,
  RunTicket_Step as Step,
} from "@stackwright/proto/stackwright";
import { ENDS, NEXT_PHASES, nameOf } from "./run-phases.ts";
import type { SimRequest } from "./sim-request.ts";
import type { Commit, CommittedWrite } from "./sim-store.ts";
import type { SimEffect, SimWorld } from "./sim-world.ts";

/** Records of a kind by name. */
interface Codec<M> {
  decode(bytes: Uint8Array): M;
}

class Table<M> {
  readonly rows = new Map<string, M>();
  readonly #codec: Codec<M>;

  constructor(codec: Codec<M>) {
    this.#codec = codec;
  }

  take({ resource, ...write }: CommittedWrite, name = write.name): void {
    if (resource === undefined) this.rows.delete(name);
    else this.rows.set(name, this.#codec.decode(resource.data?.value ?? new Uint8Array()));
  }
}

/** Claims without a result after which a run that changed nothing fails. */
const ATTEMPTS = 3;
/** Why a worker gives a claim back whose end, or whose beginning, was lost on the way to the store. */
const NOT_STORED = "the result of the step could not be stored";
/** How long a ticket may wait while others that come later are taken: a worker lists tickets before it takes some. */
const PATIENCE_MS = 15_000;

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
 * 11. A run fails for lost workers only when that many were lost.
 * 12. Without faults every run ends, or waits for something that has a name.
 */
export class RunModel {
  readonly violations: string[] = [];
  readonly runs = new Map<string, Run>();
  readonly tickets = new Table(RunTicket);
  readonly queues = new Table(StackQueue);
  readonly locks = new Table(StackLock);
  readonly freezes = new Table(Freeze);
  readonly heads = new Table(StackHead);
  readonly projects = new Table(Project);
  readonly #fences = new Table(Fence);
  readonly #logs = new Table(RunLog);
  readonly #segments = new Table(RunLogSegment);
  readonly #runTable = new Table(Run);
  readonly #world: SimWorld;
  readonly #requests: ReadonlyMap<string, SimRequest>;
  readonly #projectOf: (stack: string) => string;
  /** Newest epoch under which something was applied, by stack. */
  readonly #epochs = new Map<string, bigint>();
  /** Runs with plans that may be applied without an approval. */
  readonly #unapproved = new Set<string>();
  /** Executions that were lost, by run. */
  readonly #losses = new Map<string, number>();
  /** Since when a ticket is free, by run; and how many claims a project has since when. */
  readonly #freeSince = new Map<string, number>();
  readonly #claims = new Map<string, { readonly count: number; readonly sinceMs: number }>();
  /** When a lock or a freeze was there last. */
  #heldUpAt = Number.NEGATIVE_INFINITY;
  /** One line for each transition. */
  readonly trace: string[] = [];

  constructor(options: {
    readonly world: SimWorld;
    readonly requests: ReadonlyMap<string, SimRequest>;
    readonly projectOf: (stack: string) => string;
  }) {
    this.#world = options.world;
    this.#requests = options.requests;
    this.#projectOf = options.projectOf;
  }

  fail(rule: number, text: string): void {
    this.violations.push(`${rule}: ${text}`);
  }

  lost(run: string): void {
    this.#losses.set(run, (this.#losses.get(run) ?? 0) + 1);
  }

  runsOf(stack: string): Run[] {
    return [...this.runs.values()]
      .filter((run) => run.stack === stack)
      .toSorted((a, b) => Number(a.number - b.number));
  }

  /** A batch took place. */
  take(commit: Commit): void {
    const tickets = new Map(this.tickets.rows);
    const fences = new Map(this.#fences.rows);
    const changed: (readonly [Run | undefined, Run])[] = [];
    const stacks = new Set<string>();
    let entries = 0;
    for (const write of commit.writes) {
      const { kind, name, resource } = write;
      const [stack = ""] = name.split(".");
      switch (kind) {
        case "Run": {
          const [, id = ""] = name.split(".");
          const before = this.runs.get(id);
          this.#runTable.take(write);
          const after = this.#runTable.rows.get(name);
          if (after === undefined) this.fail(1, `the run ${id} was removed`);
          else {
            this.runs.set(id, after);
            changed.push([before, after]);
          }
          stacks.add(stack);
          break;
        }
        case "RunTicket":
          this.tickets.take(write);
          stacks.add(this.tickets.rows.get(name)?.stack ?? tickets.get(name)?.stack ?? "");
          break;
        case "StackQueue":
          this.queues.take(write);
          stacks.add(stack);
          break;
        case "RunLog":
          this.#logs.take(write);
          break;
        case "RunLogSegment":
          if (this.#segments.rows.has(name)) this.fail(7, `the segment ${name} was written again`);
          this.#segments.take(write);
          break;
        case "Fence":
          this.#fences.take(write);
          break;
        case "StackLock":
          this.locks.take(write);
          this.#heldUpAt = commit.atMs;
          break;
        case "Freeze":
          // That of a project is known by its namespace.
          this.freezes.take(write, name === "project" ? write.tenancy.namespace : name);
          this.#heldUpAt = commit.atMs;
          break;
        case "StackHead":
          this.#checkHead(write, fences);
          this.heads.take(write);
          break;
        case "Project":
          this.projects.take(write);
          break;
        case "SimAudit":
          if (resource !== undefined) entries += 1;
          break;
        default:
      }
    }
    this.#checkRequest(commit, entries);
    for (const [before, after] of changed) this.#checkRun(commit, before, after, tickets, fences);
    this.#checkTickets(commit, tickets, fences);
    for (const stack of stacks) this.#checkStack(stack);
    for (const [, run] of changed) this.#checkLog(run);
  }

  /** A real object is made. */
  effect(effect: SimEffect): void {
    const { stack, run: id, digest, object, owner, epoch } = effect;
    const what = `object ${object} of the run ${this.#short(id)}`;
    const run = this.runs.get(id);
    if (run === undefined) return this.fail(8, `${what}: there is no such run`);
    if (run.phase !== P.PHASE_APPLYING)
      this.fail(8, `${what} is made while it is ${nameOf(run.phase)}`);
    if (this.queues.rows.get(stack)?.current !== id) this.fail(8, `${what} is made out of turn`);
    if (run.planDigest !== digest) this.fail(8, `${what} is of another plan`);
    if (run.epoch !== epoch)
      this.fail(6, `${what} is made under the epoch ${epoch} of ${run.epoch}`);
    const fence = this.#fences.rows.get(stack);
    if (fence?.owner !== owner || fence.epoch !== epoch) {
      this.fail(6, `${what} is made without the fence of its stack`);
    }
    if (this.#world.of(id).some((one) => one.object === object))
      this.fail(8, `${what} is made twice`);
    this.#checkApprovals(run, what);
  }

  /** A request was answered: `ok`, the code of a refusal, or `unknown`. */
  answered(request: SimRequest): void {
    const { id, kind, outcome, commits } = request;
    if (outcome === undefined || outcome === "unknown") return;
    if (outcome !== "ok" && commits > 0) {
      this.fail(9, `${kind} ${id} was refused as ${outcome}, and was done`);
    }
    if (outcome === "ok" && commits === 0 && !request.mayBeIdle) {
      this.fail(9, `${kind} ${id} was answered, and was not done`);
    }
  }

  /** Nothing goes wrong any more, and some time has passed: what is left waits for something that has a name. */
  checkRest(nowMs: number): void {
    for (const run of this.runs.values()) {
      const reason = this.#reasonOf(run, nowMs);
      if (reason === undefined) {
        this.fail(
          12,
          `the run ${this.#short(run.id)} is ${nameOf(run.phase)}, and waits for nothing`,
        );
      }
    }
    for (const request of this.#requests.values()) {
      if (request.mayBeLost || request.outcome !== undefined) continue;
      this.fail(12, `${request.kind} ${request.id} was never answered`);
    }
  }

  /** Why a run is where it is. */
  #reasonOf(run: Run, nowMs: number): string | undefined {
    if (ENDS.has(run.phase)) return "ended";
    if (run.phase === P.PHASE_AWAITING_APPROVAL) return "approval";
    if (!isPlanOnly(run) && this.queues.rows.get(run.stack)?.current !== run.id) return "turn";
    const isPlan = run.phase === P.PHASE_QUEUED;
    const isApply = run.phase === P.PHASE_APPROVED;
    const lock = this.locks.rows.get(run.stack);
    if ((isPlan || isApply) && !isPlanOnly(run) && isOn(lock, nowMs)) return "lock";
    const freezes = [run.stack, this.#projectOf(run.stack)].map((name) =>
      this.freezes.rows.get(name),
    );
    if (isApply && run.freezeOverride === undefined && freezes.some((one) => isOn(one, nowMs))) {
      return "freeze";
    }
    return undefined;
  }

  #checkRequest({ request: id, writes, process }: Commit, entries: number): void {
    const request = id === undefined ? undefined : this.#requests.get(id);
    if (request === undefined) {
      if (entries > 0) this.fail(9, `${process.name} writes an audit entry for nobody`);
      return;
    }
    request.commits += 1;
    const what = `${request.kind} ${request.id}`;
    if (request.commits > 1) this.fail(9, `${what} is done ${request.commits} times`);
    if (entries !== 1)
      this.fail(9, `${what} has ${entries} audit entries with its ${writes.length} writes`);
    if (request.outcome !== undefined && request.outcome !== "unknown") {
      this.fail(9, `${what} is done after its answer ${request.outcome}`);
    }
  }

  #checkRun(
    commit: Commit,
    before: Run | undefined,
    after: Run,
    tickets: ReadonlyMap<string, RunTicket>,
    fences: ReadonlyMap<string, Fence>,
  ): void {
    const what = `the run ${this.#short(after.id)}`;
    if (before !== undefined && ENDS.has(before.phase)) {
      return this.fail(1, `${what} is written after its end as ${nameOf(before.phase)}`);
    }
    if (before === undefined) this.#checkNew(commit, after);
    const known = before?.history.length ?? 0;
    let phase = before?.phase ?? P.PHASE_UNSPECIFIED;
    for (const { from, to, actor } of after.history.slice(known)) {
      this.trace.push(
        `${commit.atMs} ${commit.process.name} ${commit.request ?? ""} ${this.#short(after.id)} ${nameOf(from)} > ${nameOf(to)} ${after.reason}`,
      );
      if (from !== phase)
        this.fail(1, `${what} goes from ${nameOf(from)}, and was ${nameOf(phase)}`);
      if (NEXT_PHASES.get(from)?.includes(to) !== true) {
        this.fail(1, `${what} goes from ${nameOf(from)} to ${nameOf(to)}`);
      }
      if (before !== undefined)
        this.#checkMover(commit, after, { from, to, actor }, tickets, fences);
      phase = to;
    }
    if (phase !== after.phase)
      this.fail(1, `${what} is ${nameOf(after.phase)} without a transition`);
    if (FINE.has(after.phase) && after.reason !== "") {
      this.fail(1, `${what} is ${nameOf(after.phase)}, and says "${after.reason}"`);
    }
    this.#checkPlan(before, after, what);
    for (const { actor, planDigest } of after.approvals) {
      if (planDigest !== after.planDigest)
        this.fail(4, `${what} keeps an approval of another plan`);
      const asked = [...this.#requests.values()].some(
        (one) =>
          one.kind === "approve" &&
          one.run === after.id &&
          one.actor === actor &&
          one.planDigest === planDigest,
      );
      if (!asked) this.fail(4, `${what} has an approval that ${actor} did not give`);
    }
    if (after.phase === P.PHASE_APPROVED && before?.phase !== P.PHASE_APPROVED) {
      this.#checkApprovals(after, what);
    }
    if (ENDS.has(after.phase)) this.#checkEnd(before, after, tickets, what);
    if (after.phase === P.PHASE_APPLYING && before?.phase !== P.PHASE_APPLYING) {
      const fence = this.#fences.rows.get(after.stack);
      if (fence === undefined || fence.owner === "" || fence.epoch !== after.epoch) {
        this.fail(6, `${what} is applied without the fence of its stack`);
      }
      if (after.epoch <= (this.#epochs.get(after.stack) ?? 0n)) {
        this.fail(6, `${what} is applied under the epoch ${after.epoch}, which is not new`);
      }
      this.#epochs.set(after.stack, after.epoch);
    }
  }

  #checkNew({ request: id }: Commit, run: Run): void {
    const request = id === undefined ? undefined : this.#requests.get(id);
    const what = `the run ${this.#short(run.id)}`;
    if (request?.kind !== "enqueue" || request.run !== run.id || request.actor !== run.actor) {
      this.fail(1, `${what} was requested by nobody`);
    }
    const numbers = this.runsOf(run.stack).map(({ number }) => Number(number));
    if (numbers.some((number, index) => number !== index + 1)) {
      this.fail(2, `${what} has the number ${run.number}, and the runs have ${numbers.join(" ")}`);
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
    const what = `the run ${this.#short(run.id)} goes from ${nameOf(from)} to ${nameOf(to)}`;
    const request = id === undefined ? undefined : this.#requests.get(id);
    if (request !== undefined) {
      const kinds: Readonly<Partial<Record<P, string>>> = {
        [P.PHASE_APPROVED]: "approve",
        [P.PHASE_DISCARDED]: "discard",
        [P.PHASE_CANCELED]: "cancel",
        [P.PHASE_SUPERSEDED]: "enqueue",
      };
      if (kinds[to] !== request.kind || request.actor !== actor) {
        return this.fail(1, `${what} by ${request.kind} of ${request.actor}`);
      }
      if (request.kind !== "enqueue" && request.run !== run.id) {
        return this.fail(1, `${what} by a request for another run`);
      }
      if (to === P.PHASE_SUPERSEDED) this.#checkSupersede(run, from, what);
      const claim = this.#ticketOf(tickets, run.id)?.claim;
      if (claim !== undefined) this.fail(5, `${what} while a worker has it`);
      return;
    }
    if (to === P.PHASE_PREPARING) return;
    const claim = this.#ticketOf(tickets, run.id)?.claim;
    if (claim === undefined) return this.fail(5, `${what} by ${process.name} without a claim`);
    if (claim.worker === actor) return;
    const fence = fences.get(`worker.${claim.worker}`);
    if (fence?.owner !== actor || fence.epoch <= claim.epoch) {
      this.fail(5, `${what} by ${process.name}, while another worker has it`);
    }
  }

  #checkSupersede(run: Run, from: P, what: string): void {
    const policy =
      this.projects.rows.get(this.#projectOf(run.stack))?.supersede ??
      Project_Supersede.SUPERSEDE_UNSPECIFIED;
    const waits = from === P.PHASE_AWAITING_APPROVAL;
    const mayEnd = waits
      ? policy === Project_Supersede.SUPERSEDE_UNAPPROVED || run.savedPlan
      : from === P.PHASE_QUEUED && policy !== Project_Supersede.SUPERSEDE_UNSPECIFIED;
    if (!mayEnd) this.fail(1, `${what}, which its project does not want`);
  }

  #checkPlan(before: Run | undefined, after: Run, what: string): void {
    if (after.planDigest === (before?.planDigest ?? "")) return;
    if (after.planDigest === "") return;
    const plan = this.#world.plans.get(after.planDigest);
    if (plan?.run !== after.id || plan.baseRevision !== after.baseRevision) {
      this.fail(4, `${what} has a plan that was not made for it`);
    }
    const rule = this.#ruleOf(after.stack);
    if (
      after.requiredApprovals !== Math.max(1, rule.requiredApprovals) ||
      after.excludeAuthor !== rule.excludeAuthor
    ) {
      this.fail(4, `${what} does not have the rule of its project`);
    }
  }

  /** Counted again from what users asked for. */
  #checkApprovals(run: Run, what: string): void {
    const rule = this.#ruleOf(run.stack);
    const asked = [...this.#requests.values()].find(
      (one) => one.kind === "enqueue" && one.run === run.id,
    );
    if (run.autoApply) {
      // The rule of the moment of the plan, as it may have changed since.
      const isAllowed =
        asked?.autoApply === true || rule.autoApply === Project_AutoApply.AUTO_APPLY_ALWAYS;
      if (isAllowed) this.#unapproved.add(`${run.id} ${run.planDigest}`);
      if (!this.#unapproved.has(`${run.id} ${run.planDigest}`)) {
        this.fail(4, `${what}: nobody allowed it to go without approval`);
      }
      return;
    }
    const actors = new Set(
      [...this.#requests.values()].flatMap(({ kind, run: id, planDigest, actor, commits }) =>
        kind === "approve" && id === run.id && planDigest === run.planDigest && commits > 0
          ? [actor]
          : [],
      ),
    );
    if (run.excludeAuthor) actors.delete(run.actor);
    if (actors.size < run.requiredApprovals) {
      this.fail(4, `${what}: ${actors.size} of ${run.requiredApprovals} approved its plan`);
    }
  }

  #checkEnd(
    before: Run | undefined,
    run: Run,
    tickets: ReadonlyMap<string, RunTicket>,
    what: string,
  ): void {
    const made = this.#world.of(run.id).length;
    const plan = this.#world.plans.get(run.planDigest);
    const name = nameOf(run.phase);
    if (run.phase === P.PHASE_APPLIED) {
      if (plan === undefined || made !== plan.objects) {
        this.fail(8, `${what} is ${name}, and ${made} of ${plan?.objects ?? 0} objects were made`);
      }
    } else if (run.phase === P.PHASE_PARTIALLY_APPLIED) {
      const isLost = run.reasonCode === "result_lost";
      if (made === 0 && !isLost) this.fail(8, `${what} is ${name}, and nothing was made`);
    } else if (made > 0 && run.reasonCode !== "recovery_failed") {
      this.fail(8, `${what} is ${name}, and ${made} objects were made`);
    }
    const isOpen = this.heads.rows.get(run.stack)?.run === run.id;
    if (isOpen && run.reasonCode !== "recovery_failed") {
      this.fail(8, `${what} is ${name}, and its state is still open`);
    }
    const isLost = run.reasonCode === "worker_lost" && before?.phase !== P.PHASE_APPLYING;
    // This very end may say that a worker was lost.
    const worker = this.#ticketOf(tickets, run.id)?.claim?.worker;
    const isRelief = run.history.at(-1)?.actor !== worker;
    const lost = (this.#losses.get(run.id) ?? 0) + (isRelief ? 1 : 0);
    if (isLost && lost < ATTEMPTS) {
      this.fail(11, `${what} failed as worker_lost after ${lost} losses`);
    }
  }

  #checkTickets(
    { atMs, process }: Commit,
    tickets: ReadonlyMap<string, RunTicket>,
    fences: ReadonlyMap<string, Fence>,
  ): void {
    for (const [name, before] of tickets) {
      const after = this.tickets.rows.get(name);
      if (after === before || before.claim === undefined) continue;
      const { worker, epoch } = before.claim;
      if (after?.claim?.worker === worker && after.claim.tokenDigest === before.claim.tokenDigest)
        continue;
      const fence = fences.get(`worker.${worker}`);
      const isOwn = fence?.owner === worker && fence.epoch === epoch;
      const isTaken = fence !== undefined && fence.owner !== worker && fence.epoch > epoch;
      const what = `the claim of the run ${this.#short(before.run)}`;
      if (after?.claim !== undefined) this.fail(5, `${what} goes from one worker to another`);
      if (!isOwn && !isTaken) this.fail(5, `${what} is ended by ${process.name} without a lease`);
      this.#count(before.run, after, -1, atMs);
      const isIdle = this.runs.get(before.run)?.reason === NOT_STORED;
      if (after !== undefined && (isTaken || isIdle)) this.lost(before.run);
    }
    for (const [name, after] of this.tickets.rows) {
      const before = tickets.get(name);
      if (after === before) continue;
      if (after.claim === undefined) {
        if (before === undefined || before.claim !== undefined)
          this.#freeSince.set(after.run, atMs);
        continue;
      }
      if (before?.claim !== undefined) continue;
      this.#checkClaim(after, atMs, process);
      this.#freeSince.delete(after.run);
      this.#count(after.run, after, 1, atMs);
    }
  }

  #checkClaim(ticket: RunTicket, atMs: number, process: Commit["process"]): void {
    const { claim, run: id, stack } = ticket;
    const what = `the run ${this.#short(id)} is claimed`;
    const fence = this.#fences.rows.get(`worker.${claim?.worker ?? ""}`);
    if (fence?.owner !== claim?.worker || fence?.epoch !== claim?.epoch) {
      this.fail(5, `${what} by a worker without a lease`);
    }
    const run = this.runs.get(id);
    const isHeld = ticket.step !== Step.STEP_RECOVER && run !== undefined && !isPlanOnly(run);
    const wallMs = process.clock.wallMs();
    if (isHeld && isOn(this.locks.rows.get(stack), wallMs)) this.fail(5, `${what} past a lock`);
    if (ticket.step === Step.STEP_APPLY && run?.freezeOverride === undefined) {
      const freezes = [stack, this.#projectOf(stack)].map((name) => this.freezes.rows.get(name));
      if (freezes.some((one) => isOn(one, wallMs))) this.fail(5, `${what} past a freeze`);
    }
    this.#checkOrder(ticket, atMs, process);
  }

  /** Of tickets that all workers have known for long, one of a lower class, or of a project that has more, is not taken first. */
  #checkOrder(taken: RunTicket, atMs: number, process: Commit["process"]): void {
    const isCalm =
      atMs - process.disturbedAt > 2 * PATIENCE_MS && atMs - this.#heldUpAt > PATIENCE_MS;
    if (!isCalm) return;
    const counts = (stack: string) =>
      this.#claims.get(this.#projectOf(stack)) ?? { count: 0, sinceMs: Number.NEGATIVE_INFINITY };
    for (const ticket of this.tickets.rows.values()) {
      if (ticket.claim !== undefined || ticket.attempts > 0 || ticket.background) continue;
      const since = this.#freeSince.get(ticket.run) ?? atMs;
      if (atMs - since < PATIENCE_MS) continue;
      if (isOn(this.locks.rows.get(ticket.stack), Number.NEGATIVE_INFINITY)) continue;
      if (ticket.step === Step.STEP_APPLY && this.freezes.rows.size > 0) continue;
      const what = `the run ${this.#short(ticket.run)} is passed over by ${this.#short(taken.run)}`;
      if (classOf(ticket) < classOf(taken)) this.fail(10, `${what} of a later class`);
      if (classOf(ticket) !== classOf(taken)) continue;
      const [own, other] = [counts(ticket.stack), counts(taken.stack)];
      const isOld = atMs - Math.max(own.sinceMs, other.sinceMs) > PATIENCE_MS;
      if (isOld && own.count < other.count) this.fail(10, `${what} of a project that has more`);
    }
  }

  #count(run: string, ticket: RunTicket | undefined, by: number, atMs: number): void {
    const stack = ticket?.stack ?? this.runs.get(run)?.stack ?? "";
    const project = this.#projectOf(stack);
    const count = (this.#claims.get(project)?.count ?? 0) + by;
    this.#claims.set(project, { count, sinceMs: atMs });
  }

  #checkStack(stack: string): void {
    const runs = this.runsOf(stack);
    const open = runs.filter(({ phase }) => !ENDS.has(phase));
    const waiting = open.filter((run) => !isPlanOnly(run)).map(({ id }) => id);
    const plans = open.filter(isPlanOnly).map(({ id }) => id);
    const queue = this.queues.rows.get(stack);
    const queued =
      queue === undefined ? [] : [queue.current, ...queue.pending].filter((id) => id !== "");
    if (queued.join() !== waiting.join()) {
      this.fail(2, `the queue is ${this.#list(queued)}, and the runs are ${this.#list(waiting)}`);
    }
    if ((queue?.speculative ?? []).join() !== plans.join()) {
      this.fail(
        2,
        `the plans are ${this.#list(queue?.speculative ?? [])}, and are ${this.#list(plans)}`,
      );
    }
    for (const run of runs) {
      const ticket = this.#ticketOf(this.tickets.rows, run.id);
      const isTurn = isPlanOnly(run) || waiting[0] === run.id;
      const steps = isTurn ? (STEPS.get(run.phase) ?? []) : [];
      const what = `the run ${this.#short(run.id)}, which is ${nameOf(run.phase)},`;
      if (ticket === undefined) {
        if (steps.length > 0) this.fail(3, `${what} has no ticket`);
      } else if (!steps.includes(ticket.step))
        this.fail(3, `${what} has a ticket for step ${ticket.step}`);
      const isClaimed = ticket?.claim !== undefined;
      const needsClaim = run.phase === P.PHASE_PREPARING || run.phase === P.PHASE_PLANNING;
      if (needsClaim && !isClaimed) this.fail(3, `${what} has no worker`);
      if (run.phase === P.PHASE_QUEUED && isClaimed) this.fail(3, `${what} has a worker`);
    }
  }

  #checkLog(run: Run): void {
    const what = `the log of the run ${this.#short(run.id)}`;
    const prefix = `${run.stack}.${run.id}`;
    const log = this.#logs.rows.get(prefix);
    const events = [...this.#segments.rows]
      .filter(([name]) => name.startsWith(`${prefix}.`))
      .toSorted(([, a], [, b]) => Number(a.first - b.first))
      .flatMap(([, { events: lines }]) => lines)
      .map((line) => JSON.parse(line) as { seq: number; type: string; to?: string });
    if (events.some(({ seq }, index) => seq !== index + 1)) this.fail(7, `${what} has a gap`);
    if (Number(log?.next ?? 1n) !== events.length + 1) this.fail(7, `${what} counts ${log?.next}`);
    const told = events.filter(({ type }) => type === "phase-change").map(({ to }) => to);
    const gone = run.history.map(({ to }) => nameOf(to));
    if (told.join() !== gone.join())
      this.fail(7, `${what} tells ${told.join()}, not ${gone.join()}`);
    const ends = events.filter(({ type }) => type === "end").length;
    const hasEnded = ENDS.has(run.phase);
    const isLast = events.at(-1)?.type === "end";
    if (ends !== (hasEnded ? 1 : 0) || isLast !== hasEnded || log?.closed !== hasEnded) {
      this.fail(7, `${what} has ${ends} ends, and the run is ${nameOf(run.phase)}`);
    }
  }

  #checkHead({ name, resource }: CommittedWrite, fences: ReadonlyMap<string, Fence>): void {
    if (resource === undefined) return;
    const { run, revision } = StackHead.decode(resource.data?.value ?? new Uint8Array());
    const before = this.heads.rows.get(name);
    if (revision < (before?.revision ?? 0n)) this.fail(6, `the state goes back to ${revision}`);
    if ((fences.get(name)?.owner ?? "") === "")
      this.fail(6, "the state is written without a fence");
    const found = this.runs.get(run);
    if (run !== "" && found?.phase !== P.PHASE_APPLYING) {
      this.fail(8, `the state is opened by a run that is ${found && nameOf(found.phase)}`);
    }
  }

  #ruleOf(stack: string): Project {
    return this.projects.rows.get(this.#projectOf(stack)) ?? Project.create({});
  }

  #ticketOf(tickets: ReadonlyMap<string, RunTicket>, run: string): RunTicket | undefined {
    return tickets.get(`default.${run}`);
  }

  #short(run: string): string {
    const { stack, number } = this.runs.get(run) ?? {};
    return stack === undefined ? run : `${stack.slice(-1)}#${number}`;
  }

  #list(runs: readonly string[]): string {
    return runs.length === 0 ? "empty" : runs.map((run) => this.#short(run)).join(" ");
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

const STEPS: ReadonlyMap<P, readonly Step[]> = new Map([
  [P.PHASE_QUEUED, [Step.STEP_PLAN]],
  [P.PHASE_PREPARING, [Step.STEP_PLAN]],
  [P.PHASE_PLANNING, [Step.STEP_PLAN]],
  [P.PHASE_APPROVED, [Step.STEP_APPLY]],
  [P.PHASE_APPLYING, [Step.STEP_APPLY, Step.STEP_RECOVER]],
]);

/** Recoveries, applies, plans, plans that nothing waits for. */
function classOf({ step, class: ticketClass, background }: RunTicket): number {
  if (background) return 4;
  if (step === Step.STEP_RECOVER) return 0;
  if (step === Step.STEP_APPLY) return 1;
  return ticketClass === 2 ? 3 : 2;
}

function isPlanOnly({ planOnly, mode }: Run): boolean {
  return planOnly || mode === Run_Mode.MODE_PLAN_ONLY;
}

function isOn(held: { readonly untilMs: bigint } | undefined, wallMs: number): boolean {
  return held !== undefined && (held.untilMs === 0n || Number(held.untilMs) > wallMs);
}
