import type { CocorpcProvider } from "../cocorpc/cocorpc-provider.ts";
import { fromCocorpcProvider } from "../cocorpc/from-cocorpc.ts";
import type { LifecycleProvider } from "../router/lifecycle-provider.ts";
import { adaptPulumiProvider, type PulumiAdapterOptions } from "./adapt-pulumi.ts";

/**
 * A provider of the 2017 protocol as a lifecycle provider. That protocol has no schema, so it is given from outside,
 * in the form of a Pulumi package schema. Its rules hold: a failed create means that nothing was created.
 */
export function adaptCocorpcProvider(
  provider: CocorpcProvider,
  options: PulumiAdapterOptions & { readonly schema: string },
): LifecycleProvider {
  return adaptPulumiProvider(fromCocorpcProvider(provider, options), options);
}
