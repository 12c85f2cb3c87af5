import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { isClientError, type Operations, type ServerClient } from "@stackwright/client";
import type { Lease } from "@stackwright/storage/lease";
import type { JobStore } from "../executor/execution-job.ts";
import { backgroundCapacity, MAX_RETRY_MS } from "../queue/choose-ticket.ts";
import { traceIdOf } from "../span/trace-context.ts";
import { type ExecuteClaimParts, executeClaim } from "../worker/execute-claim.ts";
import { OrphanSweep } from "../worker/orphan-sweep.ts";
import { MAX_NAMED_RUNS, WORKER_PROTOCOL } from "../worker/remote-protocol.ts";
import { RunningSteps } from "../worker/running-steps.ts";
import { claimPauseMs, isRefusal } from "./claim-pause.ts";
import { isClaimLost, remoteClaimHost } from "./remote-claim-host.ts";

type Claim = NonNullable<Operations["ClaimStep"]["output"]>;

export interface RemoteTenureParts extends ExecuteClaimParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** With the token of the worker. */
  readonly client: ServerClient;
  /** A client with another token, for one claim. */
  readonly clientOf: (token: string) => ServerClient;
  /** Where executors reach the store, but for their tokens. */
  readonly store: Omit<JobStore, "token">;
  /** Steps that are executed at the same time. */
  readonly capacity: number;
  /** How often claims are looked at, in milliseconds. @default 2,000 */
  readonly lookMs?: number;
}

/** How long a server holds a request for a claim where there is nothing to do. */
const WAIT_SECONDS = 15;
/** How long such a request may take altogether. */
const CLAIM_TIMEOUT_MS = 45_000;

/** One tenure of a remote worker: from its lease to the loss of it. */
export class RemoteTenure {
  readonly id: string;
  readonly #lease: Lease;
  readonly #parts: RemoteTenureParts;
  readonly #running: RunningSteps<Claim>;
  readonly #endedAt = new Map<string, number>();
  /** Requests for claims so far. */
  #requests = 0;
  /** Ends the claiming. */
  readonly #ending = new AbortController();
  /** Ends the look at claims, once all steps have ended. */
  readonly #over = new AbortController();
  readonly #orphans: OrphanSweep;
  readonly #claiming: Promise<void>;
  readonly #looking: Promise<void>;
  #bell = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;

  constructor(id: string, lease: Lease, parts: RemoteTenureParts) {
    this.id = id;
    this.#lease = lease;
    this.#parts = parts;
    this.#running = new RunningSteps(parts.clock, () => this.#bell.resolve());
    this.#orphans = new OrphanSweep(parts, async (names) => {
      const body = { executions: names.slice(0, MAX_NAMED_RUNS) };
      return (await parts.client.findOrphans({ body })).data.orphans;
    });
    this.#claiming = this.#claimAll();
    this.#looking = this.#look();
  }

  /** Resolves with true when the lease is lost, with false when the signal aborts before. */
  async lost(ending: AbortSignal): Promise<boolean> {
    const over = AbortSignal.any([this.#lease.signal, ending]);
    await new Promise<void>((resolve) => {
      over.addEventListener("abort", () => resolve(), { once: true });
      if (over.aborted) resolve();
    });
    return !ending.aborted;
  }

  /** Claims nothing more; ends all executions: plans at once, applies within the time. Gives the lease back. */
  async close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    this.#ending.abort(new Error("the worker ends"));
    this.#bell.resolve();
    await this.#running.stop(graceMs);
    await this.#claiming;
    // What was claimed in the moment of the end.
    await this.#running.kill();
    this.#over.abort(new Error("the worker ends"));
    await Promise.all([this.#looking, this.#orphans.ended]);
    await this.#lease.release();
  }

  async #claimAll(): Promise<void> {
    const { capacity, clock, logger } = this.#parts;
    const signal = AbortSignal.any([this.#ending.signal, this.#lease.signal]);
    let refusals = 0;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      if (this.#running.size >= capacity) {
        await this.#bell.promise;
        continue;
      }
      try {
        const claim = await this.#ask(signal);
        refusals = 0;
        if (claim !== undefined) await this.#execute(claim);
      } catch (error) {
        if (signal.aborted) return;
        const pauseMs = claimPauseMs(error, refusals);
        refusals = isRefusal(error) ? refusals + 1 : 0;
        logger.warn({ err: error, pauseMs }, "the worker could not ask for steps and tries again");
        await sleep(clock, pauseMs, signal).catch(() => undefined);
      }
    }
  }

  async #ask(signal: AbortSignal): Promise<Claim | undefined> {
    const { client, clock } = this.#parts;
    const now = clock.monotonicMs();
    for (const [run, endedAt] of this.#endedAt) {
      if (now - endedAt >= MAX_RETRY_MS) this.#endedAt.delete(run);
    }
    const ended = Array.from(this.#endedAt, ([run, endedAt]) => ({
      run,
      ago_ms: Math.floor(now - endedAt),
    })).slice(-1_000);
    const { version: fence } = this.#lease.guard;
    const running = this.#running.runs();
    const steps = [...this.#running.values()];
    const inBackground = steps.filter(({ claim }) => claim.background === true).length;
    const body = {
      protocol: WORKER_PROTOCOL,
      worker: this.id,
      fence,
      request: (this.#requests += 1),
      running,
      ended,
      wait_seconds: WAIT_SECONDS,
      background: inBackground < backgroundCapacity(this.#parts.capacity),
    };
    const { data } = await client.claimStep({ body }, { signal, timeoutMs: CLAIM_TIMEOUT_MS });
    return data;
  }

  async #execute(claim: Claim): Promise<void> {
    const { logger, clientOf, clock, store } = this.#parts;
    const { run, step, token, trace_parent: traceParent = "" } = claim;
    if (claim.protocol !== WORKER_PROTOCOL) {
      throw new TypeError("the server has a release that this worker does not fit");
    }
    // A step of the same run here is over, or has lost its claim.
    await this.#running.ended(run);
    const traceId = traceIdOf(run, traceParent);
    logger.info({ run, step, traceId }, "a run was claimed");
    const { signal: lost } = this.#lease;
    const client = clientOf(token);
    const host = remoteClaimHost({
      client,
      run,
      clock,
      logger,
      lost,
      ending: this.#ending.signal,
    });
    // What a cancel left open is what a recovery resolves: only a later request stops the recovery itself.
    const stage = step === "recover" ? claim.cancel_stage : 0;
    const executed = { run, step, lost, store: { ...store, token }, traceParent };
    this.#running.add(run, { claim, stage }, async (onStart) => {
      try {
        await executeClaim(this.#parts, executed, host, onStart);
      } catch (error) {
        logger.error({ run, traceId, err: error }, "the execution of a step failed");
      } finally {
        this.#endedAt.set(run, clock.monotonicMs());
      }
    });
  }

  /** Passes requests to cancel on, and ends what has lost its claim. */
  async #look(): Promise<void> {
    const { clock, clientOf, lookMs = 2_000 } = this.#parts;
    const { signal } = this.#over;
    while (!signal.aborted) {
      await sleep(clock, lookMs, signal).catch(() => undefined);
      if (!signal.aborted) this.#orphans.begin();
      const steps = [...this.#running.values()];
      await Promise.all(
        steps.map(async ({ claim: { run, token } }) => {
          try {
            const options = { signal, timeoutMs: 10_000 };
            const { data } = await clientOf(token).showClaim({ run }, options);
            this.#running.cancel(run, data.cancel_stage);
          } catch (error) {
            if (isClaimLost(error)) this.#running.cancel(run, 2);
            else if (!signal.aborted && !isClientError(error)) throw error;
          }
        }),
      );
    }
  }
}
