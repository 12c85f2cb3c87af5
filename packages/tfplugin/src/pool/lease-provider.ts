import type { LifecycleProvider } from "@stackwright/mux/router";

/** The provider as the holder of a lease sees it: Stop is noticed, and closing releases the lease. */
export function borrowPooledProvider(
  provider: LifecycleProvider,
  lease: { readonly onStop: () => void; readonly onClose: () => Promise<void> },
): LifecycleProvider {
  return {
    schema: (context) => provider.schema(context),
    validateProvider: (request, context) => provider.validateProvider(request, context),
    validateResource: (request, context) => provider.validateResource(request, context),
    validateDataSource: (request, context) => provider.validateDataSource(request, context),
    validateEphemeral: (request, context) => provider.validateEphemeral(request, context),
    configure: (request, context) => provider.configure(request, context),
    upgrade: (request, context) => provider.upgrade(request, context),
    move: (request, context) => provider.move(request, context),
    read: (request, context) => provider.read(request, context),
    plan: (request, context) => provider.plan(request, context),
    apply: (request, context) => provider.apply(request, context),
    import: (request, context) => provider.import(request, context),
    readDataSource: (request, context) => provider.readDataSource(request, context),
    openEphemeral: (request, context) => provider.openEphemeral(request, context),
    renewEphemeral: (request, context) => provider.renewEphemeral(request, context),
    closeEphemeral: (request, context) => provider.closeEphemeral(request, context),
    callFunction: (request, context) => provider.callFunction(request, context),
    stop: (context) => {
      lease.onStop();
      return provider.stop(context);
    },
    close: () => lease.onClose(),
    [Symbol.asyncDispose]: () => lease.onClose(),
  };
}
