import type { ParameterizeRequest } from "@stackwright/proto/pulumirpc";
import type { CallContext } from "../call-context.ts";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";

/** Words as on a command line, or what an SDK of the package recorded: its name, version, and a value in base64. */
export type PackageParameters =
  | readonly string[]
  | { readonly name: string; readonly version: string; readonly value: string };

/** The bridge to Terraform's providers first downloads one, which may be large. */
const PARAMETERIZE_TIMEOUT_MS = 300_000;

/**
 * Makes another package of a provider, once: all its schemas are then those of that package. `MUX_PARAMETERS_REFUSED` where it
 * takes no parameters, not these, or makes another package of a recorded value than the value is for.
 */
export async function parameterizeProvider(
  provider: ResourceProvider,
  parameters: PackageParameters,
  context: CallContext,
): Promise<ResourceProvider> {
  const { name, version } = await parameterize(provider, parameters, context);
  if (!isWords(parameters) && (name !== parameters.name || version !== parameters.version)) {
    throw refused(
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
  parameters: PackageParameters,
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
    if (late.aborted) throw refused("it does not answer to its parameters", error);
    const { code, rawMessage } = error as {
      readonly code?: unknown;
      readonly rawMessage?: unknown;
    };
    throw refused(
      code === "UNIMPLEMENTED"
        ? "it takes no parameters"
        : `it refuses its parameters: ${String(rawMessage ?? error)}`,
      error,
    );
  }
}

function isWords(parameters: PackageParameters): parameters is readonly string[] {
  return Array.isArray(parameters);
}

function refused(what: string, cause?: unknown): MuxError {
  return new MuxError("MUX_PARAMETERS_REFUSED", what, { cause });
}
