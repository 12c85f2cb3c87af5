import { ServerError } from "./server-error.ts";

/**
 * `unprocessable` where no program can be given a value as an environment variable. Node refuses it with the value in its message, in a form that is not
 * recognised as a secret.
 */
export function requireEnvironmentValues(environment: Readonly<Record<string, string>>): void {
  const name = Object.keys(environment).find((key) => environment[key]?.includes("\0"));
  if (name === undefined) return;
  throw new ServerError(
    "unprocessable",
    `the value of the environment variable "${name}" has a NUL character, which no program can be given`,
  );
}
