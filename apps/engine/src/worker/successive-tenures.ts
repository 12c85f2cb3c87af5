import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";

/** The time in which a worker holds one lease. */
interface LeaseTenure {
  /** The name of the worker in this time. */
  readonly id: string;
  /** Whether the lease was lost; false when the signal aborts first. */
  lost(signal: AbortSignal): Promise<boolean>;
  close(graceMs: number): Promise<void>;
}

/** The tenures of a worker, one after the other. Disposing ends the last at once. */
interface SuccessiveTenures<Tenure extends LeaseTenure> extends AsyncDisposable {
  readonly current: () => Tenure;
  /** Begins no further tenure, gives the last one this time to end, and disposes what they were made of. */
  readonly close: (graceMs?: number) => Promise<void>;
}

interface TenureSource<Tenure extends LeaseTenure> {
  readonly begin: (signal: AbortSignal) => Promise<Tenure>;
  /** What the tenures are made of: taken over when the first has begun, and disposed after the last. */
  readonly stack: AsyncDisposableStack;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Begins a tenure, and another one under another name each time that its lease is lost; where that fails, every second again.
 * Rejects where the first cannot begin; the caller still owns the stack then.
 */
export async function succeedTenures<Tenure extends LeaseTenure>({
  begin,
  stack,
  clock,
  logger,
}: TenureSource<Tenure>): Promise<SuccessiveTenures<Tenure>> {
  const ending = new AbortController();
  let current = await begin(ending.signal);
  const following = (async () => {
    while (await current.lost(ending.signal)) {
      logger.error({ worker: current.id }, "the worker lost its lease and starts again");
      await current.close(0);
      for (let begun: Tenure | undefined; begun === undefined && !ending.signal.aborted; ) {
        begun = await begin(ending.signal).catch(() => undefined);
        if (begun === undefined) await sleep(clock, 1_000, ending.signal).catch(() => undefined);
        else current = begun;
      }
    }
  })();
  const owned = stack.move();
  let closing: Promise<void> | undefined;
  const close = async (graceMs = 0): Promise<void> => {
    closing ??= (async () => {
      try {
        ending.abort(new Error("the worker ends"));
        await current.close(graceMs);
        await following;
        // A tenure that began in the same moment.
        await current.close(0);
      } finally {
        await owned.disposeAsync();
      }
    })();
    return closing;
  };
  return { current: () => current, close, [Symbol.asyncDispose]: async () => close() };
}
