import type { LifecycleContext, LifecycleProvider } from "@stackwright/mux/router";
import type { EngineClock } from "../walk/clock.ts";

/** How often calls that surely did nothing are repeated. */
export interface RetryPolicy {
  /** Calls in all, the first one included. */
  readonly attempts: number;
  /** Pause before the first repetition, in milliseconds; each further one is twice as long. @default 500 */
  readonly delayMs?: number;
}

/**
 * The same provider, with calls repeated that failed by a rejection that says it may be repeated. Calls that only look or
 * compute are repeated whenever the error is retryable; an apply only if the error says that nothing was applied. Error
 * diagnostics are answers and never repeated.
 */
export function retryProvider(
  provider: LifecycleProvider,
  policy: RetryPolicy,
  clock: Pick<EngineClock, "schedule">,
): LifecycleProvider {
  const repeat = async <T>(
    { signal }: LifecycleContext,
    isSafe: (error: unknown) => boolean,
    call: () => Promise<T>,
  ): Promise<T> => {
    let delayMs = policy.delayMs ?? 500;
    for (let attempt = 1; ; attempt++) {
      try {
        return await call();
      } catch (error) {
        if (attempt >= policy.attempts || signal?.aborted === true || !isSafe(error)) throw error;
        await pause(clock, delayMs, signal);
        delayMs *= 2;
      }
    }
  };
  const look = async <Q, R>(
    method: (request: Q, context: LifecycleContext) => Promise<R>,
    request: Q,
    context: LifecycleContext,
  ): Promise<R> => repeat(context, isRetryable, async () => method(request, context));
  return {
    schema: async (context) => repeat(context, isRetryable, async () => provider.schema(context)),
    validateProvider: async (request, context) =>
      look(async (q, c) => provider.validateProvider(q, c), request, context),
    validateResource: async (request, context) =>
      look(async (q, c) => provider.validateResource(q, c), request, context),
    validateDataSource: async (request, context) =>
      look(async (q, c) => provider.validateDataSource(q, c), request, context),
    validateEphemeral: async (request, context) =>
      look(async (q, c) => provider.validateEphemeral(q, c), request, context),
    configure: async (request, context) => provider.configure(request, context),
    upgrade: async (request, context) =>
      look(async (q, c) => provider.upgrade(q, c), request, context),
    move: async (request, context) => look(async (q, c) => provider.move(q, c), request, context),
    read: async (request, context) => look(async (q, c) => provider.read(q, c), request, context),
    plan: async (request, context) => look(async (q, c) => provider.plan(q, c), request, context),
    apply: async (request, context) =>
      repeat(context, wasNotApplied, async () => provider.apply(request, context)),
    import: async (request, context) =>
      look(async (q, c) => provider.import(q, c), request, context),
    readDataSource: async (request, context) =>
      look(async (q, c) => provider.readDataSource(q, c), request, context),
    openEphemeral: async (request, context) => provider.openEphemeral(request, context),
    renewEphemeral: async (request, context) =>
      look(async (q, c) => provider.renewEphemeral(q, c), request, context),
    closeEphemeral: async (request, context) =>
      look(async (q, c) => provider.closeEphemeral(q, c), request, context),
    callFunction: async (request, context) =>
      look(async (q, c) => provider.callFunction(q, c), request, context),
    stop: async (context) => provider.stop(context),
    close: async () => provider.close(),
    [Symbol.asyncDispose]: async () => provider.close(),
  };
}

function isRetryable(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "retryable" in error && error.retryable === true
  );
}

/** Whether an error says that nothing was applied and that it may be tried again. */
function wasNotApplied(error: unknown): boolean {
  return (
    isRetryable(error) &&
    typeof error === "object" &&
    error !== null &&
    "outcome" in error &&
    error.outcome === "not-applied"
  );
}

async function pause(
  clock: Pick<EngineClock, "schedule">,
  delayMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  using _timer = clock.schedule(resolve, delayMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
