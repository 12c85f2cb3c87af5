import type { LifecycleContext, LifecycleProvider } from "@stackwright/mux/router";

/** A provider did not answer a call by its deadline. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";

  constructor(method: string, timeoutMs: number) {
    super(`${method} was not answered within ${timeoutMs / 1000} s`);
  }
}

/**
 * The same provider with a deadline for every call, also of one that does not heed its signal. `onLost` is called where a call has no
 * answer.
 */
export function boundProvider(
  provider: LifecycleProvider,
  options: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly onLost: (error: unknown) => void;
  },
): LifecycleProvider {
  const { timeoutMs, signal, onLost } = options;
  const call = async <Reply>(
    method: string,
    context: LifecycleContext,
    start: (context: LifecycleContext) => Promise<Reply>,
  ): Promise<Reply> => {
    signal.throwIfAborted();
    const deadline = AbortSignal.timeout(timeoutMs);
    const signals = [signal, deadline, ...(context.signal ? [context.signal] : [])];
    const all = AbortSignal.any(signals);
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = (): void => {
      reject(deadline.aborted ? new CallTimeout(method, timeoutMs) : all.reason);
    };
    all.addEventListener("abort", abort, { once: true });
    if (all.aborted) abort();
    try {
      return await Promise.race([start({ ...context, signal: all }), promise]);
    } catch (error) {
      const failure = deadline.aborted ? new CallTimeout(method, timeoutMs) : error;
      // A caller that gives up knows that it did.
      if (context.signal?.aborted !== true) onLost(failure);
      throw failure;
    } finally {
      all.removeEventListener("abort", abort);
    }
  };
  const bound =
    <Request, Reply>(
      method: string,
      start: (request: Request, context: LifecycleContext) => Promise<Reply>,
    ) =>
    async (request: Request, context: LifecycleContext): Promise<Reply> =>
      call(method, context, async (bounded) => start(request, bounded));
  return {
    schema: async (context) => call("schema", context, async (bounded) => provider.schema(bounded)),
    validateProvider: bound("validateProvider", provider.validateProvider.bind(provider)),
    validateResource: bound("validateResource", provider.validateResource.bind(provider)),
    validateDataSource: bound("validateDataSource", provider.validateDataSource.bind(provider)),
    validateEphemeral: bound("validateEphemeral", provider.validateEphemeral.bind(provider)),
    configure: bound("configure", provider.configure.bind(provider)),
    upgrade: bound("upgrade", provider.upgrade.bind(provider)),
    move: bound("move", provider.move.bind(provider)),
    read: bound("read", provider.read.bind(provider)),
    plan: bound("plan", provider.plan.bind(provider)),
    apply: bound("apply", provider.apply.bind(provider)),
    import: bound("import", provider.import.bind(provider)),
    readDataSource: bound("readDataSource", provider.readDataSource.bind(provider)),
    openEphemeral: bound("openEphemeral", provider.openEphemeral.bind(provider)),
    renewEphemeral: bound("renewEphemeral", provider.renewEphemeral.bind(provider)),
    closeEphemeral: bound("closeEphemeral", provider.closeEphemeral.bind(provider)),
    callFunction: bound("callFunction", provider.callFunction.bind(provider)),
    stop: async (context) => call("stop", context, async (bounded) => provider.stop(bounded)),
    close: async () => provider.close(),
    [Symbol.asyncDispose]: async () => provider.close(),
  };
}
