import type { ReattachTarget } from "@stackwright/tfplugin/launch";
import { CommandError } from "../command-error.ts";

/** The providers of `TF_REATTACH_PROVIDERS`, by full source. They are neither installed nor locked. */
export async function attachedProviders({
  TF_REATTACH_PROVIDERS: text = "",
}: NodeJS.ProcessEnv): Promise<ReadonlyMap<string, ReattachTarget>> {
  if (text.trim() === "") return new Map();
  const { parseReattachProviders } = await import("@stackwright/tfplugin/launch");
  return parseReattachProviders(text);
}

/** The plug-ins of `PULUMI_DEBUG_PROVIDERS` with their ports, by name. They are neither installed nor locked. */
export async function attachedPlugins({
  PULUMI_DEBUG_PROVIDERS: text = "",
}: NodeJS.ProcessEnv): Promise<ReadonlyMap<string, number>> {
  if (text.trim() === "") return new Map();
  const { parseDebugProviders } = await import("@stackwright/mux/host");
  try {
    return parseDebugProviders(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(`PULUMI_DEBUG_PROVIDERS cannot be used: ${why}.`, {
      cause,
      advice: "Give names of plug-ins with the ports that they print: shelf:50051,lab:50052",
    });
  }
}
