import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CommandError } from "../command-error.ts";

/** The servers that a user is logged in to. */
interface ServerCredentials {
  /** The server of commands that name none. */
  readonly current?: string;
  /** By address. */
  readonly servers: Readonly<Record<string, ServerCredential>>;
}

interface ServerCredential {
  readonly token: string;
  /** What its certificate is trusted by, in PEM, beside the authorities of the system. */
  readonly authority?: string;
}

/** The file of a user's credentials: `STACKWRIGHT_CREDENTIALS`, else in the folder for configurations. */
export function credentialsPath(env: NodeJS.ProcessEnv): string {
  const { STACKWRIGHT_CREDENTIALS: named, XDG_CONFIG_HOME, HOME } = env;
  if (named !== undefined && named !== "") return named;
  return join(
    XDG_CONFIG_HOME || join(HOME || homedir(), ".config"),
    "stackwright/credentials.json",
  );
}

/** Reads the credentials; none where there is no file. `CommandError` for a file that others can read, or that is damaged. */
export async function readCredentials(path: string): Promise<ServerCredentials> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return { servers: {} };
    throw new CommandError(`Cannot read ${path}: ${(cause as Error).message}.`, { cause });
  }
  const { mode } = await stat(path);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new CommandError(`Other users can read the credentials in ${path}.`, {
      advice: `Make the file private: chmod 600 ${path}`,
    });
  }
  return parse(text, path);
}

function parse(text: string, path: string): ServerCredentials {
  const damaged = (cause?: unknown): CommandError =>
    new CommandError(`The file of credentials ${path} is not valid.`, {
      cause,
      advice: "Remove it, and log in again: stackwright login --server URL",
    });
  let parsed: Partial<ServerCredentials> | null;
  try {
    parsed = JSON.parse(text) as Partial<ServerCredentials> | null;
  } catch (cause) {
    throw damaged(cause);
  }
  const entries = Object.values(parsed?.servers ?? {});
  if (parsed === null || !entries.every((entry) => typeof entry?.token === "string")) {
    throw damaged();
  }
  return {
    ...(typeof parsed.current === "string" && { current: parsed.current }),
    servers: parsed.servers ?? {},
  };
}

/** Writes the credentials in one step, for their owner alone. The file is removed with the last server. */
export async function writeCredentials(
  path: string,
  credentials: ServerCredentials,
): Promise<void> {
  if (Object.keys(credentials.servers).length === 0) {
    await rm(path, { force: true });
    return;
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(temporary, `${JSON.stringify(credentials, undefined, 2)}\n`, {
      mode: 0o600,
      flag: "wx",
    });
    // The mask of the process may have taken bits away from the owner.
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
