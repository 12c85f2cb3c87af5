import { posix } from "node:path";
import type { VcsStack } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { isBelow, repositoryFolder } from "./git/repository-path.ts";
import type { TreeFile, TreeFiles } from "./git/tree-files.ts";
import { moduleFolders } from "./module-folders.ts";

/** Bytes of one file, and of all files of a configuration. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;
const MAX_TOTAL_BYTES = 512 * 1024 * 1024;

/** What belongs to tools, and states, which hold secrets: no part of a configuration. */
const LEFT_OUT = /(?:^|\/)(?:\.git|\.stackwright|\.terraform(?!\/modules\/))(?:\/|$)/;
const STATE_NAME = /\.tfstate(?:\.|$)/;

function isLeftOut(path: string): boolean {
  return LEFT_OUT.test(path) || STATE_NAME.test(path.slice(path.lastIndexOf("/") + 1));
}

/** The configuration of a stack in a tree. */
export interface StackFiles {
  /** Folder of the root module. */
  readonly root: string;
  readonly files: readonly TreeFile[];
  /** Whether a file that was changed, added or removed concerns the stack. */
  readonly isAffected: (changed: string) => boolean;
}

/**
 * The configuration of a stack in a tree: its folder, those of the modules that it calls, and what its patterns name. `unprocessable`
 * where there is none, or where it is too large.
 */
export async function stackFiles(
  tree: TreeFiles,
  { stack, directory, paths }: VcsStack,
): Promise<StackFiles> {
  const root = repositoryFolder(directory);
  if (!tree.names(root).some((name) => /\.tf(?:\.json)?$/.test(name))) {
    throw new ServerError(
      "unprocessable",
      `the folder "${directory}" of the stack ${stack} has no configuration files (*.tf)`,
    );
  }
  const [, ...modules] = await moduleFolders(tree, root);
  const isNamed = patternMatcher(paths);
  const isPart = (path: string): boolean =>
    isBelow(path, root) ||
    modules.some((folder) => isBelow(path, folder)) ||
    isNamed(path) === true;
  const files = tree.select((path) => isPart(path) && !isLeftOut(path));
  checkSizes(files);
  const sources = new Set(files.map(({ source }) => source));
  return {
    root,
    files,
    isAffected: (changed) => {
      const named = isNamed(changed);
      if (named !== undefined) return named;
      // Without patterns the whole folder counts; with patterns they say what counts of it.
      const own = paths.some((pattern) => !pattern.startsWith("!"))
        ? false
        : isBelow(changed, root);
      const foreign = !isBelow(changed, root) && (isPart(changed) || sources.has(changed));
      return own || foreign;
    },
  };
}

/**
 * What the last pattern that matches a path says: true, false for one with `!`, undefined where none matches. A star matches no slash, two
 * do; names that begin with a dot are matched where the pattern writes the dot.
 */
export function patternMatcher(patterns: readonly string[]): (path: string) => boolean | undefined {
  const rules = patterns.map((pattern) => {
    const isNegated = pattern.startsWith("!");
    return { isNegated, glob: isNegated ? pattern.slice(1) : pattern };
  });
  return (path) => {
    const last = rules.findLast(({ glob }) => posix.matchesGlob(path, glob));
    return last && !last.isNegated;
  };
}

function checkSizes(files: readonly TreeFile[]): void {
  const large = files.find(({ size }) => size > MAX_FILE_BYTES);
  if (large !== undefined) {
    throw new ServerError(
      "unprocessable",
      `the file ${large.path} has more than ${MAX_FILE_BYTES} bytes; remove it, or exclude it from the folders of the stack`,
    );
  }
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total > MAX_TOTAL_BYTES) {
    throw new ServerError(
      "unprocessable",
      `the files of the configuration have more than ${MAX_TOTAL_BYTES} bytes`,
    );
  }
}
