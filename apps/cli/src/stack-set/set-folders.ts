import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { isStackName } from "@stackwright/core";
import { repositoryRoot } from "../adoption/find-roots.ts";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { rootModules, shownPath } from "../repository/root-modules.ts";
import { stackOfFolder } from "../repository/stack-of-folder.ts";

/** A stack of a set and the folder of its configuration. */
export interface SetFolder {
  readonly stack: string;
  /** Absolute. */
  readonly folder: string;
  /** As users write it. */
  readonly shown: string;
}

/** Most stacks that are planned together. */
const MAX_STACKS = 200;

/**
 * The stacks that words of the form `FOLDER` or `STACK=FOLDER` name; without words, those of all root modules below the directory. A stack without
 * a name has that of its folder in the repository, as those that are adopted together.
 */
export function setFolders(
  words: readonly string[],
  { directory }: Pick<CommandContext, "directory">,
): readonly SetFolder[] {
  const base = realpathSync(directory);
  const top = repositoryRoot(base);
  const named =
    words.length === 0
      ? rootModules(base).map(({ folder }) => ({ folder, stack: stackOfFolder(top, folder) }))
      : words.map((word) => readWord(word, base, top));
  if (named.length === 0) {
    throw new CommandError(`There is no root module below "${directory}".`, {
      advice: "Name the folders: stackwright stacks plan network app",
    });
  }
  if (named.length > MAX_STACKS) {
    throw new CommandError(
      `${named.length} root modules were found, and at most ${MAX_STACKS} are planned together.`,
      { advice: "Name the folders." },
    );
  }
  const byName = new Map<string, string>();
  return named.map(({ stack, folder }) => {
    const shown = shownPath(base, folder);
    const other = byName.get(stack);
    if (other !== undefined) {
      throw new CommandError(`"${other}" and "${shown}" would both be the stack "${stack}".`, {
        advice: `Name the stacks: ${stack}=${other} OTHER=${shown}`,
      });
    }
    byName.set(stack, shown);
    return { stack, folder, shown };
  });
}

function readWord(word: string, base: string, top: string): Omit<SetFolder, "shown"> {
  const at = word.indexOf("=");
  const path = resolve(base, word.slice(at + 1));
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CommandError(`There is no folder "${word.slice(at + 1)}".`, {
      advice: "A stack is named as FOLDER, or as STACK=FOLDER.",
    });
  }
  const folder = realpathSync(path);
  const stack = at < 0 ? stackOfFolder(top, folder) : word.slice(0, at);
  if (!isStackName(stack)) {
    throw new CommandError(`"${stack}" is not a valid name of a stack.`, {
      advice: 'Use up to 128 letters, digits, ".", "_" and "-".',
    });
  }
  return { folder, stack };
}
