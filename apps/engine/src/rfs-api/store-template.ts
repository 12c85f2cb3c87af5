import type { NamedStack } from "@stackwright/core";
import { packTarball } from "@stackwright/provider-source";
import type { RfsConfiguration } from "@stackwright/rfs-stacks";
import { storeConfiguration } from "../configuration/store-configuration.ts";
import type { RfsParts } from "./rfs-parts.ts";

/** Stores the files of a template as a configuration version of a stack; returns its digest. */
export async function storeTemplate(
  parts: RfsParts,
  { reference: stack, name: stackName }: NamedStack,
  { files }: Pick<RfsConfiguration, "files">,
  { actor, signal }: { readonly actor: string; readonly signal: AbortSignal },
): Promise<string> {
  const entries = [...files].map(([path, content]) => ({
    path,
    executable: false,
    size: content.byteLength,
    content: async function* () {
      yield content;
    },
  }));
  const content = packTarball(entries, { signal });
  const { version } = await storeConfiguration(parts, { stack, stackName, actor, content, signal });
  return version.digest;
}
