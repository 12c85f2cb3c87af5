import { statSync } from "node:fs";

/** The variables that name the CLI configuration file; the first that is set counts. */
const VARIABLES = ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"];

/** A note where a variable names a CLI configuration file that does not exist: the mirrors and tokens of it are missing. */
export function missingCliConfiguration(env: NodeJS.ProcessEnv): string[] {
  const name = VARIABLES.find((one) => (env[one] ?? "") !== "");
  if (name === undefined) return [];
  const path = env[name] ?? "";
  try {
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) return [];
  } catch {
    // What cannot be looked at is refused, with the reason, where the file is needed.
    return [];
  }
  return [
    `Note: the CLI configuration file ${JSON.stringify(path)} does not exist, and is taken as empty. Make it, or correct or unset ${name}.`,
  ];
}
