import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { Executor } from "../executor/executor.ts";
import type { ListedTicket } from "../queue/choose-ticket.ts";

interface OrphanSweepParts {
  readonly executor: Executor;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often executions are compared with tickets. */
const SWEEP_MS = 60_000;

/** The name of the execution of a step. Each claim of a ticket has another one. */
export function executionName(run: string, attempts: number): string {
  return `sw-${run}-${attempts + 1}`;
}

/** Names of the executions of all claims. */
export function executionsOf(tickets: readonly ListedTicket[]): ReadonlySet<string> {
  const claimed = tickets.filter(({ ticket }) => ticket.claim !== undefined);
  return new Set(claimed.map(({ ticket: { run, attempts } }) => executionName(run, attempts)));
}

/**
 * Ends executions whose claim is over: those of a worker that died, where they outlive it. One that begins meanwhile is claimed before
 * it is there, so whatever was there before the tickets were read, and has no claim, is an orphan.
 */
export class OrphanSweep {
  readonly #parts: OrphanSweepParts;
  readonly #orphansOf: (names: readonly string[]) => Promise<readonly string[]>;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  /** @param orphansOf those of some executions that no claim is for */
  constructor(
    parts: OrphanSweepParts,
    orphansOf: (names: readonly string[]) => Promise<readonly string[]>,
  ) {
    this.#parts = parts;
    this.#orphansOf = orphansOf;
  }

  /** Resolves when the sweep that is under way has ended. Never rejects. */
  get ended(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Begins a sweep, unless there was one within the last minute. */
  begin(): void {
    const { clock, executor } = this.#parts;
    const now = clock.monotonicMs();
    const isDue = this.#running === undefined && now - this.#sweptAt >= SWEEP_MS;
    if (!isDue || executor.list === undefined) return;
    this.#sweptAt = now;
    this.#running = this.#sweep().finally(() => {
      this.#running = undefined;
    });
  }

  async #sweep(): Promise<void> {
    const { executor, logger } = this.#parts;
    try {
      const found = (await executor.list?.()) ?? [];
      if (found.length === 0) return;
      const orphans = await this.#orphansOf(found.map(({ name }) => name));
      for (const one of found.filter(({ name }) => orphans.includes(name))) {
        await executor.remove?.(one);
        logger.warn({ execution: one.name }, "an execution without a claim was ended");
      }
    } catch (error) {
      logger.warn({ err: error }, "executions without a claim could not be listed");
    }
  }
}
