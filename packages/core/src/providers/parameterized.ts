import type { CallContext, ResourceProvider } from "@stackwright/mux";
import { EngineError } from "../errors.ts";
import type { ProgramParameters } from "./catalog.ts";

/**
 * Makes another package of a provider, once: all its schemas are then those of that package. `ENGINE_PROVIDER_UNAVAILABLE` where it
 * takes no parameters, not these, or makes another package of a recorded value than the value is for.
 */
export async function parameterized(
  provider: ResourceProvider,
  parameters: ProgramParameters,
  context: CallContext,
): Promise<ResourceProvider> {
  const { parameterizeProvider } = await import("@stackwright/mux/host");
  const { MuxError } = await import("@stackwright/mux");
  try {
    return await parameterizeProvider(provider, parameters, context);
  } catch (error) {
    if (!(error instanceof MuxError) || error.code !== "MUX_PARAMETERS_REFUSED") throw error;
    throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", error.message, { cause: error });
  }
}
