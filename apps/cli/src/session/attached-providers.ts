import type { ReattachTarget } from "@stackwright/tfplugin/launch";

/** The providers of `TF_REATTACH_PROVIDERS`, by full source. They are neither installed nor locked. */
export async function attachedProviders({
  TF_REATTACH_PROVIDERS: text = "",
}: NodeJS.ProcessEnv): Promise<ReadonlyMap<string, ReattachTarget>> {
  if (text.trim() === "") return new Map();
  const { parseReattachProviders } = await import("@stackwright/tfplugin/launch");
  return parseReattachProviders(text);
}
