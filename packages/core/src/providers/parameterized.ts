import type { CallContext, ResourceProvider } from "@stackwright/mux";
import type { ParameterizeRequest } from "@stackwright/proto/pulumirpc";
import { EngineError } from "../errors.ts";
import type { ProgramParameters } from "./catalog.ts";

/**
 * Programs on Pulumi's SDK for Node give no answer where their code throws, and the bridge to Terraform's providers first downloads
 * one, which may be large.
 */
const PARAMETERIZE_TIMEOUT_MS = 300_000;

/**
 * Makes another package of a provider, once: all its schemas are then those of that package. `ENGINE_PROVIDER_UNAVAILABLE` where it
 * takes no parameters, not these, or makes another package of a recorded value than the value is for.
 */
export async function parameterized(
  provider: ResourceProvider,
  parameters: ProgramParameters,
  context: CallContext,
): Promise<ResourceProvider> {
  const { name, version } = await parameterize(provider, parameters, context);
  if (!isWords(parameters) && (name !== parameters.name || version !== parameters.version)) {
    throw unavailable(
      `the parameters are for ${parameters.name} ${parameters.version}, and it became ${name} ${version}`,
    );
  }
  const own = { subpackageName: name, subpackageVersion: version };
  return {
    ...provider,
    getSchema: async (request, callContext) =>
      provider.getSchema({ ...request, ...(request.subpackageName === "" && own) }, callContext),
  };
}

async function parameterize(
  provider: ResourceProvider,
  parameters: ProgramParameters,
  context: CallContext,
): ReturnType<ResourceProvider["parameterize"]> {
  const late = AbortSignal.timeout(PARAMETERIZE_TIMEOUT_MS);
  const signal = context.signal === undefined ? late : AbortSignal.any([context.signal, late]);
  const request: ParameterizeRequest = {
    parameters: isWords(parameters)
      ? { $case: "args", value: { args: [...parameters] } }
      : {
          $case: "value",
          value: { ...parameters, value: Buffer.from(parameters.value, "base64") },
        },
  };
  try {
    return await provider.parameterize(request, { ...context, signal });
  } catch (error) {
    context.signal?.throwIfAborted();
    if (late.aborted) throw unavailable("it does not answer to its parameters", error);
    const { code, rawMessage } = error as {
      readonly code?: unknown;
      readonly rawMessage?: unknown;
    };
    throw unavailable(
      code === "UNIMPLEMENTED"
        ? "it takes no parameters"
        : `it refuses its parameters: ${String(rawMessage ?? error)}`,
      error,
    );
  }
}

function isWords(parameters: ProgramParameters): parameters is readonly string[] {
  return Array.isArray(parameters);
}

function unavailable(what: string, cause?: unknown): EngineError {
  return new EngineError("ENGINE_PROVIDER_UNAVAILABLE", what, { cause });
}
