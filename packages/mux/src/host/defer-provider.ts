import type { CallContext } from "../call-context.ts";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { delegateProvider } from "./delegate-provider.ts";

/** A provider that runs, and how it is ended. */
interface StartedProvider {
  readonly provider: ResourceProvider;
  close(): Promise<void>;
}

/** A provider that is started by the first call that it has to answer itself. */
export interface DeferredProvider extends AsyncDisposable {
  readonly provider: ResourceProvider;
  /** Ends what was started, also where it is still starting. A provider that is closed starts no more. */
  close(): Promise<void>;
}

/**
 * Starts a provider when it is called for the first time; Cancel before that has nothing to cancel, and starts nothing. A start that
 * failed is not tried again: all calls reject with what it rejected with.
 *
 * @param start gets the signal of the first call
 */
export function deferProvider(
  start: (context: CallContext) => Promise<StartedProvider>,
): DeferredProvider {
  let started: Promise<StartedProvider> | undefined;
  let isClosed = false;
  const provider = delegateProvider({
    target: async (context) => {
      if (isClosed) throw new MuxError("MUX_CLOSED", "the provider is closed");
      started ??= start(context);
      return (await started).provider;
    },
    explain: (error) => error,
  });
  const close = async (): Promise<void> => {
    isClosed = true;
    const running = await started?.catch(() => undefined);
    await running?.close();
  };
  return {
    provider: {
      ...provider,
      cancel: async (request, context) =>
        started === undefined ? {} : provider.cancel(request, context),
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
