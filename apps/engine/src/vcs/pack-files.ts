import { packTarball } from "@stackwright/provider-source";
import type { TreeFiles } from "./git/tree-files.ts";
import type { StackFiles } from "./stack-files.ts";

/** The files of a configuration as an archive that a configuration version is made of. */
export async function* packFiles(
  tree: TreeFiles,
  { files }: Pick<StackFiles, "files">,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const contents = tree.contents(files);
  const entries = files.map(({ path, executable, size }) => ({
    path,
    executable,
    size,
    // Archives are written in the order of their entries, in which the contents come.
    content: async function* () {
      const { value } = await contents.next();
      if (value !== undefined) yield value.bytes;
    },
  }));
  yield* packTarball(entries, { signal });
}
