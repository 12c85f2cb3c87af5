import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** The file in which the reference command keeps the tokens of hosts. */
export function credentialsPath({ env }: Pick<CommandContext, "env">): string {
  const home = env["HOME"] === undefined || env["HOME"] === "" ? homedir() : env["HOME"];
  return join(home, ".terraform.d/credentials.tfrc.json");
}

/** Stores the token of a host, or removes it. Other hosts stay. Returns whether the file had a token of the host. */
export async function storeToken(
  path: string,
  host: string,
  token: string | undefined,
): Promise<boolean> {
  const content = await read(path);
  const { [host]: former, ...others } = content.credentials ?? {};
  if (token === undefined && former === undefined) return false;
  const credentials = token === undefined ? others : { ...others, [host]: { token } };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.new`;
  await writeFile(next, `${JSON.stringify({ ...content, credentials }, undefined, 2)}\n`, {
    mode: 0o600,
  });
  await chmod(next, 0o600);
  await rename(next, path);
  return former !== undefined;
}

interface CredentialsFile {
  readonly credentials?: Readonly<Record<string, unknown>>;
}

async function read(path: string): Promise<CredentialsFile> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new CommandError(`The credentials file "${path}" is not readable.`, { cause: error });
  }
  try {
    return JSON.parse(text) as CredentialsFile;
  } catch (error) {
    throw new CommandError(`The credentials file "${path}" is not valid JSON.`, { cause: error });
  }
}
