import type { Clock } from "@stackwright/base/clock";
import { type RetryPolicy, retry } from "@stackwright/base/retry";
import type { LifecycleContext, LifecycleProvider } from "@stackwright/mux/router";

/**
 * The same provider, with calls repeated that failed by a rejection that says it may be repeated. Calls that only look or
 * compute are repeated whenever the error is retryable; an apply only if the error says that nothing was applied. Error
 * diagnostics are answers and never repeated.
 */
export function retryProvider(
  provider: LifecycleProvider,
  policy: RetryPolicy,
  clock: Pick<Clock, "after">,
  random: () => number = Math.random,
): LifecycleProvider {
  const repeat = async <T>(
    { signal }: LifecycleContext,
    isSafe: (error: unknown) => boolean,
    call: () => Promise<T>,
  ): Promise<T> => retry({ policy, clock, random, isRetryable: isSafe, signal }, call);
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
