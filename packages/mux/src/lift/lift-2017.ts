import { fromLegacyProvider } from "../cocorpc/from-legacy.ts";
import type { LegacyProvider } from "../cocorpc/legacy-provider.ts";
import type { LifecycleProvider } from "../router/lifecycle-provider.ts";
import { type LiftOptions, liftPulumi } from "./lift-pulumi.ts";

/**
 * A provider of the 2017 protocol as a lifecycle provider. That protocol has no schema, so it is given from outside,
 * in the form of a Pulumi package schema. Its rules hold: a failed create means that nothing was created.
 */
export function lift2017(
  provider: LegacyProvider,
  options: LiftOptions & { readonly schema: string },
): LifecycleProvider {
  return liftPulumi(fromLegacyProvider(provider, options), options);
}
