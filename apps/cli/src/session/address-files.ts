import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { PlanningOptions } from "./run-options.ts";

/** The options with the addresses of their files: one a line; empty lines and those with `#` do not count. */
export async function withAddressFiles<
  T extends Pick<PlanningOptions, "target" | "exclude" | "targetFile" | "excludeFile">,
>(options: T, { directory }: Pick<CommandContext, "directory">): Promise<T> {
  const read = async (files: readonly string[] = []): Promise<string[]> => {
    const texts = await Promise.all(
      files.map(async (file) =>
        readFile(resolve(directory, file), "utf8").catch((error: unknown) => {
          throw new CommandError(`The file of addresses "${file}" is not readable.`, {
            cause: error,
          });
        }),
      ),
    );
    return texts
      .flatMap((text) => text.split("\n"))
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"));
  };
  return {
    ...options,
    target: [...options.target, ...(await read(options.targetFile))],
    exclude: [...options.exclude, ...(await read(options.excludeFile))],
  };
}
