import { cp, lstat, mkdtempDisposable, readdir, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { hideCredentials } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { loadProject } from "./project.ts";

/** The call that the module is fetched by. */
const CALL = "source";
/** What is not a part of a module. */
const LEFT_OUT: ReadonlySet<string> = new Set([".git", ".terraform", ".stackwright"]);

/**
 * Copies a module into the directory of the command, where its files become the root module. `CommandError` where the directory has a
 * configuration already, or a file that would be overwritten.
 *
 * @param source an address as in a module block; a relative one is of the user's directory
 */
export async function copyModule(
  source: string,
  context: CommandContext,
  options: { readonly offline: boolean },
): Promise<void> {
  const { directory } = context;
  const names = await readdir(directory).catch((error: unknown) => {
    throw new CommandError(`There is no folder "${directory}".`, { cause: error });
  });
  if (names.some((name) => /\.(?:tf|tofu)(?:\.json)?$/.test(name))) {
    throw new CommandError(`The directory "${directory}" has a configuration already.`, {
      advice: "Use -from-module in an empty directory.",
    });
  }
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-module-"));
  const address = /^\.\.?(?:[/\\]|$)/.test(source)
    ? resolve(context.workingDirectory, source)
    : source;
  await writeFile(
    join(scratch.path, "main.tf.json"),
    // Not a template: its markers are escaped.
    JSON.stringify({ module: { [CALL]: { source: address.replaceAll(/([$%])\{/g, "$1$1{") } } }),
  );
  const fetching = { ...context, directory: scratch.path, workingDirectory: scratch.path };
  const { modules, configuration } = await loadProject(fetching, undefined, {
    ...options,
    quiet: true,
  });
  const found = modules.modules.find(({ key }) => key === CALL);
  if (found === undefined) {
    const [first] = configuration.diagnostics;
    throw new CommandError(
      `The module "${hideCredentials(source)}" cannot be copied: ${first?.summary ?? "it was not found"}.`,
      { ...(first?.detail !== undefined && { advice: first.detail }) },
    );
  }
  const folder = await realpath(resolve(scratch.path, found.dir));
  if (`${await realpath(directory)}/`.startsWith(`${folder}/`)) {
    throw new CommandError("The module has the directory itself in it.", {
      advice: "Use -from-module in a directory outside of the module.",
    });
  }
  const files = (await readdir(folder)).filter((name) => !LEFT_OUT.has(name));
  for (const name of files) {
    const there = await lstat(join(directory, name)).catch(() => undefined);
    if (there === undefined) continue;
    throw new CommandError(`The module has "${name}", which the directory has as well.`, {
      advice: "Nothing was copied. Use -from-module in an empty directory.",
    });
  }
  for (const name of files) {
    await cp(join(folder, name), join(directory, name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => relative(folder, path) === name || !LEFT_OUT.has(basename(path)),
    });
  }
}
