import type { Plan } from "@stackwright/core";
import { type BundleFiles, quoteLiteral } from "@stackwright/lang";
import type { ExecutionJob } from "./execution-job.ts";

/** No file of a bundle has this name, and problems in it are reported with it. */
const FILE = "<imports of the run>.tf";

type Imports = NonNullable<ExecutionJob["imports"]>;

/** The files of a root module with one more, which has an import block for each object that the run imports. */
export function withImportBlocks(files: BundleFiles, imports: Imports = []): BundleFiles {
  if (imports.length === 0) return files;
  const text = imports
    .map(({ address, id }) => `import {\n  to = ${address}\n  id = "${quoteLiteral(id)}"\n}\n`)
    .join("");
  return {
    ...files,
    names: (folder) =>
      folder === "." ? [...files.names(folder), FILE].toSorted() : files.names(folder),
    read: (path) => (path === FILE ? Buffer.from(text) : files.read(path)),
  };
}

/** Why a plan does not import all that its run asks for; undefined where it does. */
export function notImported(
  { changes }: Pick<Plan, "changes">,
  imports: Imports = [],
): string | undefined {
  const imported = new Set(
    changes.flatMap(({ address, importing }) => (importing === undefined ? [] : [address])),
  );
  const left = imports.map(({ address }) => address).filter((address) => !imported.has(address));
  if (left.length === 0) return undefined;
  return `nothing is imported to ${left.join(", ")}: an object is recorded there already, or one may have been created; remove it from the state first, which destroys nothing`;
}
