import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { changedFiles } from "../repository/changed-files.ts";
import { changesOf, rootModules, shownPath } from "../repository/root-modules.ts";

export interface CiChangedOptions {
  /** The branch, tag or commit that the present one is compared with. */
  readonly base: string;
  readonly json: boolean;
}

/** Most files that are named for a root module. */
const MAX_NAMED = 20;

/** Lists the root modules below the folder that the changes since a base concern, one a line. */
export async function ciChanged(
  { base, json }: CiChangedOptions,
  { directory, terminal, signal }: CommandContext,
): Promise<ExitCode> {
  // Git names folders without links.
  const folder = realpathSync(directory);
  const changes = await changedFiles(folder, base, signal);
  const files = changes.files.map((file) => resolve(changes.root, file));
  const roots = rootModules(folder);
  const changed = roots.flatMap((root) => {
    const because = changesOf(root, files, roots);
    return because.length === 0 ? [] : [{ root, because }];
  });
  if (!json) {
    for (const { root } of changed) terminal.write(`${shownPath(folder, root.folder)}\n`);
    return EXIT.ok;
  }
  const unchanged = roots.filter((root) => changed.every((each) => each.root !== root));
  const report = {
    base: changes.base,
    changed: changed.map(({ root, because }) => ({
      folder: shownPath(folder, root.folder),
      files: because.slice(0, MAX_NAMED).map((file) => shownPath(changes.root, file)),
      file_count: because.length,
    })),
    unchanged: unchanged.map((root) => shownPath(folder, root.folder)),
  };
  terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  return EXIT.ok;
}
