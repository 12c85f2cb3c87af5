import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { sleep } from "@stackwright/base/clock";
import type { VcsTask } from "@stackwright/proto/stackwright";
import { isStorageError, readStored, WILDCARD } from "@stackwright/storage";
import { createLeases, type Lease, type Leases, type Renewer } from "@stackwright/storage/lease";
import { decodeRecord } from "../domain/record-kind.ts";
import { type Place, projectTenancy, RUN_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { listen } from "../queue/listen.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { advanceBranch } from "./advance-branch.ts";
import { type AdvancedPullRequest, advancePullRequest } from "./advance-pull-request.ts";
import { checkConnection } from "./check-connection.ts";
import { addChecks, checkPauseMs } from "./connection-checks.ts";
import { trimCopies } from "./git/kept-copies.ts";
import { openConnection } from "./open-connection.ts";
import { tracedTask } from "./traced-task.ts";
import type { VcsParts } from "./vcs-parts.ts";
import { type ConnectionReference, connectionPlace } from "./vcs-places.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const KIND = SERVER_KINDS.vcsTask;

/** Connections that are worked for at the same time, and those of one project: it keeps no other one waiting with a Git server that hangs. */
const MAX_CONNECTIONS = 4;
const MAX_OF_PROJECT = 2;
/** A connection whose turn took so long comes again behind the others. */
const TURN_MS = 10_000;
/** How often everything is looked through. */
const SWEEP_MS = 10_000;
/** When a pull request whose runs are awaited is looked at again, if no event of them arrives: the later, the longer it waits. */
const AWAIT_MS = { least: 2_000, most: 60_000, share: 4 };
/** Connections that are looked through for what no delivery reported, at the same time: Git servers that hang keep none from its work. */
const MAX_CHECKS = 2;
/** How long one task may take. */
const TASK_MS = 15 * 60_000;
/** How long it may take to look a connection through. */
const CHECK_DEADLINE_MS = 60_000;
/** How long the lease of a connection is waited for: longer than a dead server keeps one. */
const LEASE_MS = 30_000;
/** How long a connection rests whose work could not even be begun or noted. */
const FAILED_MS = 2_000;
const MAX_BACKOFF_MS = 10 * 60_000;
/** Failures after which a task is given up: the next delivery begins again. */
const MAX_ATTEMPTS = 200;

interface VcsWorkerParts extends VcsParts {
  /** Bytes of the copies of repositories. */
  readonly maxCopyBytes: number;
  readonly renewer?: Renewer | undefined;
}

/** A task as it is stored. */
interface StoredTask {
  readonly place: Place;
  readonly task: VcsTask;
}

/** A connection that is worked for. */
interface Busy {
  readonly project: string;
  /** It is looked through, and nothing else was due. */
  readonly isCheck: boolean;
  readonly done: Promise<void>;
}

/**
 * Does the work that deliveries led to, and looks now and then for what none reported. Any number of servers do so on one store: the lease of a connection is with one of them, and
 * every write names it. What a server leaves when it dies is done by the next one.
 */
export class VcsWorker {
  readonly #parts: VcsWorkerParts;
  readonly #leases: Leases;
  readonly #ending = new AbortController();
  readonly #busy = new Map<string, Busy>();
  /** When it is made sure next that all connections are looked through. */
  #addChecksAtMs = Number.NEGATIVE_INFINITY;
  /** When connections with tasks were served last. */
  #served = new Map<string, number>();
  /** Names of tasks, by the runs that they wait for. */
  readonly #awaited = new Map<string, string>();
  /** Names of tasks whose runs have changed. */
  readonly #rung = new Set<string>();
  #trimming = Promise.resolve();
  #bell = Promise.withResolvers<void>();
  readonly #loops: Promise<unknown>;

  constructor(parts: VcsWorkerParts) {
    this.#parts = parts;
    const { storage, clock, renewer } = parts;
    this.#leases = createLeases({
      storage,
      clock,
      owner: `vcs@${hostname()} (process ${process.pid}, ${randomUUID().slice(0, 8)})`,
      ...(renewer !== undefined && { renewer }),
    });
    const { signal } = this.#ending;
    const wake = (): void => this.#bell.resolve();
    this.#loops = Promise.all([
      this.#loop(),
      listen(parts, KIND.type, wake, signal),
      listen(parts, RUN_KIND.type, (place) => this.#runChanged(place), signal),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the server stops"));
    this.#bell.resolve();
    await Promise.all([this.#loops, ...Array.from(this.#busy.values(), ({ done }) => done)]);
  }

  #runChanged({ name }: Place): void {
    const task = this.#awaited.get(name.slice(name.indexOf(".") + 1));
    if (task === undefined) return;
    this.#rung.add(task);
    this.#bell.resolve();
  }

  async #loop(): Promise<void> {
    const { clock, logger, random } = this.#parts;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      let pauseMs = SWEEP_MS * (0.75 + random() / 2);
      try {
        const next = await this.#turn();
        pauseMs = Math.min(pauseMs, Math.max(50, next));
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "the work for repositories is tried again");
      }
      const pause = new AbortController();
      await Promise.race([
        this.#bell.promise,
        sleep(clock, pauseMs, AbortSignal.any([signal, pause.signal])).catch(() => undefined),
      ]);
      pause.abort();
    }
  }

  /** Begins what is due; resolves with the time until more is. */
  async #turn(): Promise<number> {
    let next = Number.POSITIVE_INFINITY;
    const nowMs = this.#parts.clock.wallMs();
    const due = new Map<string, StoredTask>();
    const waiting = new Set<string>();
    const known = new Set([...this.#awaited.values(), ...this.#rung]);
    const tasks = await this.#list(ANYWHERE, "");
    for (const one of tasks) {
      const connection = connectionOf(one);
      waiting.add(connection);
      if (!this.#isDue(one)) next = Math.min(next, Number(one.task.nextAtMs) - nowMs);
      else if (due.get(connection)?.task.check ?? true) due.set(connection, one);
    }
    await this.#addChecks(tasks);
    this.#forget(known, tasks);
    this.#served = new Map([...this.#served].filter(([connection]) => waiting.has(connection)));
    const servedAt = (connection: string): number => this.#served.get(connection) ?? 0;
    const ordered = [...due].toSorted(
      ([a, { task: first }], [b, { task: second }]) =>
        Number(first.check) - Number(second.check) || servedAt(a) - servedAt(b),
    );
    for (const [connection, one] of ordered) {
      if (this.#busy.size >= MAX_CONNECTIONS) break;
      const { partition, namespace } = one.place.tenancy;
      const project = `${partition}/${namespace}`;
      const ofProject = [...this.#busy.values()].filter((busy) => busy.project === project);
      if (this.#busy.has(connection) || ofProject.length >= MAX_OF_PROJECT) continue;
      const { check: isCheck } = one.task;
      const checks = [...this.#busy.values()].filter((busy) => busy.isCheck);
      const hasCheck = checks.length >= MAX_CHECKS || checks.some((of) => of.project === project);
      if (isCheck && hasCheck) continue;
      const done = this.#workFor(connection, one)
        .catch(async (error: unknown) => {
          const { signal } = this.#ending;
          if (signal.aborted) return;
          const { clock, logger } = this.#parts;
          logger.warn({ connection, err: error }, "a connection could not be served");
          // What fails at once is not tried again at once: its tasks stay due.
          await sleep(clock, FAILED_MS, signal).catch(() => undefined);
        })
        .then(async () => this.#trim())
        .finally(() => {
          this.#served.set(connection, this.#parts.clock.monotonicMs());
          this.#busy.delete(connection);
          this.#bell.resolve();
        });
      this.#busy.set(connection, { project, isCheck, done });
    }
    return next;
  }

  /** Makes sure that all connections are looked through: also those that another release made, or that a store was restored with. */
  async #addChecks(tasks: readonly StoredTask[]): Promise<void> {
    const { clock, random, logger } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#addChecksAtMs) return;
    this.#addChecksAtMs = nowMs + checkPauseMs(random);
    const known = new Set(tasks.map(({ place }) => place.name));
    try {
      await addChecks(this.#parts, known, this.#ending.signal);
    } catch (error) {
      this.#ending.signal.throwIfAborted();
      logger.warn({ err: error }, "checks of connections could not be added, and are later");
    }
  }

  /** Forgets what is known of tasks that are gone: another server has done them. */
  #forget(known: ReadonlySet<string>, tasks: readonly StoredTask[]): void {
    const stored = new Set(tasks.map(({ place }) => place.name));
    const isGone = (task: string): boolean => known.has(task) && !stored.has(task);
    for (const [run, task] of this.#awaited) if (isGone(task)) this.#awaited.delete(run);
    for (const task of this.#rung) if (isGone(task)) this.#rung.delete(task);
  }

  #isDue({ place, task }: StoredTask): boolean {
    return this.#rung.has(place.name) || Number(task.nextAtMs) <= this.#parts.clock.wallMs();
  }

  async #list(tenancy: Place["tenancy"], prefix: string): Promise<readonly StoredTask[]> {
    const { storage, logger } = this.#parts;
    const { signal } = this.#ending;
    const onDamaged = logDamaged(logger);
    const found = await listReadable(storage, KIND, tenancy, { signal, prefix, onDamaged });
    return found.map(({ id, message }) => ({ place: id, task: message }));
  }

  /** Removes copies of repositories over the limit, but for those in use. */
  async #trim(): Promise<void> {
    const { directory, maxCopyBytes: maxBytes, logger } = this.#parts;
    this.#trimming = this.#trimming
      .then(async () => trimCopies({ directory, maxBytes }, (id) => this.#busy.has(id)))
      .catch((error: unknown) => {
        logger.warn({ err: error }, "copies of repositories could not be removed");
      });
    await this.#trimming;
  }

  /** Does what is due for one connection, the branch first, and the look at all of it last, until its turn is over. */
  async #workFor(connection: string, { place: { tenancy }, task }: StoredTask): Promise<void> {
    const { partition: account, namespace: project } = tenancy;
    const reference = { account, project, name: task.connection };
    const { signal: ending } = this.#ending;
    const waiting = AbortSignal.any([ending, AbortSignal.timeout(LEASE_MS)]);
    const name = { tenancy: projectTenancy(reference), name: `vcs-${connection}` };
    await using lease = await this.#leases.acquire(name, { signal: waiting });
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + TURN_MS;
    do {
      const tasks = await this.#list(tenancy, `${connection}.`);
      const due = tasks.filter((one) => this.#isDue(one)).toSorted((a, b) => rankOf(a) - rankOf(b));
      const [first] = due;
      if (first === undefined || ending.aborted) return;
      await this.#work(reference, first, lease);
    } while (clock.monotonicMs() < untilMs);
  }

  async #work(
    reference: ConnectionReference,
    { place, task }: StoredTask,
    lease: Lease,
  ): Promise<void> {
    this.#rung.delete(place.name);
    const { traces, storage } = this.#parts;
    // Where nothing asked for it, the pull request says what the task belongs to.
    const isSilent = traces === undefined || task.pullRequest === "";
    const id = idOf(SERVER_KINDS.vcsPullRequest, place);
    const found = isSilent ? undefined : await readStored(storage, "strong", id);
    const pull = found && decodeRecord(SERVER_KINDS.vcsPullRequest, found);
    await tracedTask(this.#parts, reference, task, pull, async () =>
      this.#attempt(reference, { place, task }, lease),
    );
  }

  async #attempt(
    reference: ConnectionReference,
    { place, task }: StoredTask,
    lease: Lease,
  ): Promise<void> {
    const { storage, logger } = this.#parts;
    const { signal: ending } = this.#ending;
    const late = AbortSignal.timeout(task.check ? CHECK_DEADLINE_MS : TASK_MS);
    const signal = AbortSignal.any([ending, lease.signal, late]);
    try {
      const id = idOf(SERVER_KINDS.vcsConnection, connectionPlace(reference));
      const found = await readStored(storage, "strong", id, { signal });
      const connection = found && decodeRecord(SERVER_KINDS.vcsConnection, found);
      let advanced: AdvancedPullRequest = { isSettled: true, awaited: [] };
      // Of a connection that was deleted, whatever has its name now.
      if (connection !== undefined && place.name.startsWith(`${connection.id}.`)) {
        const open = await openConnection(this.#parts, reference, connection, lease.guard, signal);
        if (task.check) {
          await checkConnection(this.#parts, open);
          advanced = { isSettled: false, awaited: [] };
        } else if (task.pullRequest === "") await advanceBranch(this.#parts, open);
        else {
          advanced = await advancePullRequest(this.#parts, open, task.pullRequest, task.commands);
        }
      }
      this.#await(place.name, advanced);
      await this.#done(place, task, lease, advanced.isSettled);
    } catch (error) {
      if (ending.aborted) throw error;
      lease.signal.throwIfAborted();
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      logger.warn({ task: place.name, err: error }, "a task of a repository is tried again");
      await this.#failed(place, task, lease, problem);
    }
  }

  #await(task: string, { awaited }: AdvancedPullRequest): void {
    for (const [run, name] of this.#awaited) if (name === task) this.#awaited.delete(run);
    for (const run of awaited) this.#awaited.set(run, task);
  }

  async #done(place: Place, seen: VcsTask, lease: Lease, isSettled: boolean): Promise<void> {
    await transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, place);
      if (row === undefined) return;
      tx.guard(lease.guard);
      const { wanted, commands } = row.message;
      const isWantedAgain = wanted !== seen.wanted;
      if (isSettled && !isWantedAgain) {
        tx.remove(row);
        return;
      }
      const done = new Set(seen.commands.map(({ delivery }) => delivery));
      const traced = new Set(seen.traceParents);
      tx.update(row, {
        traceParents: row.message.traceParents.filter((one) => !traced.has(one)),
        commands: commands.filter(({ delivery }) => !done.has(delivery)),
        attempts: 0,
        problem: "",
        nextAtMs: BigInt(
          Math.floor(isWantedAgain ? tx.nowMs : tx.nowMs + this.#pauseMs(row.message, tx.nowMs)),
        ),
      });
    });
  }

  #pauseMs(task: VcsTask, nowMs: number): number {
    return task.check ? checkPauseMs(this.#parts.random) : awaitMs(task, nowMs);
  }

  async #failed(place: Place, seen: VcsTask, lease: Lease, problem: string): Promise<void> {
    await transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, place);
      if (row === undefined) return;
      tx.guard(lease.guard);
      const attempts = row.message.attempts + 1;
      const { check } = row.message;
      if (attempts > MAX_ATTEMPTS && row.message.wanted === seen.wanted && !check) {
        tx.remove(row);
        return;
      }
      const { random } = this.#parts;
      const backoffMs = Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** Math.min(attempts, 20));
      const pauseMs = check ? checkPauseMs(random) : backoffMs * (0.5 + random() / 2);
      tx.update(row, {
        attempts,
        problem: problem.slice(0, 1_024),
        nextAtMs: BigInt(Math.floor(tx.nowMs + pauseMs)),
      });
    });
  }
}

function connectionOf({ place: { name } }: StoredTask): string {
  return name.slice(0, name.indexOf("."));
}

/** What of a connection is done first: its branch, pull requests, and the look at all of it. */
function rankOf({ task }: StoredTask): number {
  if (task.check) return 2;
  return task.pullRequest === "" ? 0 : 1;
}

function awaitMs({ createdAtMs }: VcsTask, nowMs: number): number {
  const { least, most, share } = AWAIT_MS;
  return Math.floor(Math.min(most, Math.max(least, (nowMs - Number(createdAtMs)) / share)));
}
