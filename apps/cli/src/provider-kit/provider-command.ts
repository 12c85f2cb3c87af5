import { delimiter, dirname, join, resolve } from "node:path";
import { type Environment, inheritedEnvironment } from "@stackwright/tfplugin/launch";

/** How a provider is started. */
interface ProviderCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
}

/**
 * A command of an author as it is started: relative paths are in the folder, and `node` is the one that runs this command.
 *
 * @param nodeOptions given to Node, where the provider is a program of it
 */
export function providerCommand(
  [first = "", ...args]: readonly string[],
  {
    directory,
    env,
    nodeOptions = [],
  }: {
    readonly directory: string;
    readonly env: NodeJS.ProcessEnv;
    readonly nodeOptions?: readonly string[];
  },
): ProviderCommand {
  const isNode = first === "node";
  const command = isNode
    ? process.execPath
    : first.includes("/")
      ? resolve(directory, first)
      : first;
  const path = [dirname(process.execPath), env.PATH ?? ""].filter((part) => part !== "");
  return {
    command,
    args: isNode ? [...nodeOptions, ...args] : args,
    cwd: directory,
    env: inheritedEnvironment({ ...env, PATH: path.join(delimiter) }),
  };
}

/** Folders with the code of a command: those of the files among its words. */
export function codeFolders(words: readonly string[], directory: string): readonly string[] {
  const files = words.filter((word) => /[/.]/.test(word) && !word.startsWith("-"));
  return [...new Set(files.map((word) => dirname(join(directory, word))))];
}
