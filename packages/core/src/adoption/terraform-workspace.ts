import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { EngineError } from "../errors.ts";

/** What the functions of this file need of a command. */
export interface TerraformFolder {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The folder in which the reference command keeps what it needs: `.terraform`, or `TF_DATA_DIR`. */
export function terraformDataFolder({ directory, env }: TerraformFolder): string {
  return resolve(directory, writtenDataFolder({ env }));
}

/** The same as it is written, which is how the paths of installed modules begin. */
export function writtenDataFolder({ env }: Pick<TerraformFolder, "env">): string {
  const named = env["TF_DATA_DIR"];
  return named === undefined || named === "" ? ".terraform" : named;
}

/** The workspace that the user selected for the reference command, and how; undefined: none, so `default`. */
export function selectedWorkspace(
  folder: TerraformFolder,
): { readonly name: string; readonly by: "TF_WORKSPACE" | "file" } | undefined {
  const named = folder.env["TF_WORKSPACE"];
  if (named !== undefined && named !== "") return { name: named, by: "TF_WORKSPACE" };
  let text: string;
  try {
    text = readFileSync(join(terraformDataFolder(folder), "environment"), "utf8").trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      `the selected workspace cannot be read from ${join(terraformDataFolder(folder), "environment")} (${code})`,
      { cause: error },
    );
  }
  return text === "" ? undefined : { name: text, by: "file" };
}
