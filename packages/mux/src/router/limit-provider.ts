import { type Clock, systemClock } from "@stackwright/base/clock";
import type { LifecycleProvider } from "./lifecycle-provider.ts";
import { ProviderCallLimiter, type ProviderCallLimits } from "./provider-call-limiter.ts";

/**
 * The same provider, within limits for the calls that may reach the provider's own service: read, plan,
 * apply, import, data sources, opening and renewing ephemeral resources. Everything else passes at once,
 * above all `stop`, `close` and `closeEphemeral`, which must not wait for what they end.
 */
export function limitLifecycleProvider(
  provider: LifecycleProvider,
  limits: ProviderCallLimits,
  clock: Clock = systemClock,
): LifecycleProvider {
  const gate = new ProviderCallLimiter(limits, clock);
  return {
    schema: async (context) => provider.schema(context),
    validateProvider: async (request, context) => provider.validateProvider(request, context),
    validateResource: async (request, context) => provider.validateResource(request, context),
    validateDataSource: async (request, context) => provider.validateDataSource(request, context),
    validateEphemeral: async (request, context) => provider.validateEphemeral(request, context),
    configure: async (request, context) => provider.configure(request, context),
    upgrade: async (request, context) => provider.upgrade(request, context),
    move: async (request, context) => provider.move(request, context),
    read: async (request, context) =>
      gate.run(() => provider.read(request, context), context.signal),
    plan: async (request, context) =>
      gate.run(() => provider.plan(request, context), context.signal),
    apply: async (request, context) =>
      gate.run(() => provider.apply(request, context), context.signal),
    import: async (request, context) =>
      gate.run(() => provider.import(request, context), context.signal),
    readDataSource: async (request, context) =>
      gate.run(() => provider.readDataSource(request, context), context.signal),
    openEphemeral: async (request, context) =>
      gate.run(() => provider.openEphemeral(request, context), context.signal),
    renewEphemeral: async (request, context) =>
      gate.run(() => provider.renewEphemeral(request, context), context.signal),
    closeEphemeral: async (request, context) => provider.closeEphemeral(request, context),
    callFunction: async (request, context) => provider.callFunction(request, context),
    stop: async (context) => provider.stop(context),
    close: async () => provider.close(),
    [Symbol.asyncDispose]: async () => provider.close(),
  };
}
