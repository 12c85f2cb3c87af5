import { existsSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModuleError } from "@stackwright/lang";
import { withFolderLimit } from "./folder-limit.ts";
import { DEFAULT_MODULE_LIMITS, removeRepositories } from "./module-tree.ts";
import { ProgramError, runProgram } from "./run-program.ts";

/** A checkout that is wanted. */
interface GitRequest {
  /** With `ref`, `depth` and `sshkey` in its query. */
  readonly url: string;
  /** The commit of the lock file, even if the reference has moved since. */
  readonly commit?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal | undefined;
  /** Says why no submodule is fetched from an address. @default all may be fetched */
  readonly refuse?: ((url: string) => string | undefined) | undefined;
  /** Of the files of the package. What git writes may have twice as many. @default 500 MiB */
  readonly maxBytes?: number | undefined;
  /** For each call of git. @default 10 minutes */
  readonly timeoutMs?: number;
}

/** Hooks do not run, and no address starts a program of its own. */
const SETTINGS = ["core.hooksPath=/dev/null", "protocol.ext.allow=never", "gc.auto=0"];
/** Answers of servers that have not what is asked for, or cannot give a part; the whole repository may have it. */
const ASK_FOR_ALL =
  /couldn't find remote ref|not our ref|shallow|dumb http|unadvertised object|invalid refspec/i;

/**
 * Checks a repository out into an empty folder, with its submodules and without its history, and returns the commit. Rejects
 * with an error that says what git says.
 */
export async function fetchGit(request: GitRequest, folder: string): Promise<string> {
  const { signal, maxBytes = DEFAULT_MODULE_LIMITS.maxBytes } = request;
  // The objects of the repository and the files that are made of them.
  return withFolderLimit(folder, { signal, maxBytes: 2 * maxBytes }, async (until) =>
    checkOut({ ...request, signal: until }, folder),
  ).then(async (commit) => {
    await removeRepositories(folder);
    return commit;
  });
}

async function checkOut(request: GitRequest, folder: string): Promise<string> {
  const { address, ref, sshKey } = readQuery(request.url);
  await using key = sshKey === undefined ? undefined : await keyFile(sshKey);
  const env = gitEnvironment(request.env, key?.path);
  const gitIn = async (cwd: string, ...words: string[]): Promise<string> =>
    runProgram("git", [...SETTINGS.flatMap((setting) => ["-c", setting]), ...words], {
      cwd,
      env,
      signal: request.signal,
      timeoutMs: request.timeoutMs ?? 600_000,
    });
  const git = async (...words: string[]): Promise<string> => gitIn(folder, ...words);
  await git("init", "--quiet", "--template=");
  await git("remote", "add", "origin", address);
  const commit = await fetchCommit(git, request.commit ?? ref);
  await git("checkout", "--quiet", "--detach", commit);
  await checkOutSubmodules(gitIn, folder, request.refuse);
  return commit;
}

/** Checks the submodules of a checkout out, and theirs. No address is asked before it is known that none is refused. */
async function checkOutSubmodules(
  gitIn: (folder: string, ...words: string[]) => Promise<string>,
  folder: string,
  refuse: GitRequest["refuse"],
): Promise<void> {
  if (!existsSync(join(folder, ".gitmodules"))) return;
  await gitIn(folder, "submodule", "--quiet", "init");
  // Written out, also where the file has a relative one: what is fetched is what is checked.
  const settings = await gitIn(folder, "config", "--local", "--list", "--null");
  for (const setting of settings.split("\0")) {
    const [, url] = /^submodule\..*\.url\n(.*)$/s.exec(setting) ?? [];
    const why = url === undefined ? undefined : refuse?.(url);
    if (why === undefined) continue;
    const detail = `The package has a submodule that cannot be fetched: ${why}.`;
    throw new ModuleError("Failed to download module", detail);
  }
  await gitIn(folder, "submodule", "--quiet", "update");
  const entries = await gitIn(folder, "ls-files", "--stage", "-z");
  for (const entry of entries.split("\0")) {
    const [, path] = /^160000 [^\t]*\t(.+)$/s.exec(entry) ?? [];
    if (path !== undefined) await checkOutSubmodules(gitIn, join(folder, path), refuse);
  }
}

/** Fetches one commit alone where the server gives it, else everything. */
async function fetchCommit(
  git: (...words: string[]) => Promise<string>,
  wanted: string | undefined,
): Promise<string> {
  const commitOf = async (name: string): Promise<string> =>
    (await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`)).trim();
  if (wanted === undefined || /^[\w./-]+$/.test(wanted)) {
    try {
      await git("fetch", "--quiet", "--depth=1", "--no-tags", "origin", wanted ?? "HEAD");
      return await commitOf("FETCH_HEAD");
    } catch (error) {
      if (!(error instanceof ProgramError) || !ASK_FOR_ALL.test(error.message)) throw error;
    }
  }
  await git("fetch", "--quiet", "--tags", "origin", "+refs/heads/*:refs/remotes/origin/*", "HEAD");
  for (const name of wanted === undefined ? ["FETCH_HEAD"] : [wanted, `origin/${wanted}`]) {
    const commit = await commitOf(name).catch((error: unknown) => {
      if (error instanceof ProgramError) return "";
      throw error;
    });
    if (commit !== "") return commit;
  }
  throw new ProgramError(`the repository has no branch, tag or commit "${wanted ?? "HEAD"}"`);
}

interface GitQuery {
  readonly address: string;
  readonly ref: string | undefined;
  readonly sshKey: string | undefined;
}

function readQuery(text: string): GitQuery {
  const at = text.indexOf("?");
  const query = new URLSearchParams(at < 0 ? "" : text.slice(at + 1));
  const take = (name: string): string | undefined => {
    const value = query.get(name);
    query.delete(name);
    return value === null || value === "" ? undefined : value;
  };
  const [ref, sshKey, depth] = [take("ref"), take("sshkey"), take("depth")];
  for (const [name, value] of [
    ["ref", ref],
    ["depth", depth],
  ] as const) {
    if (value?.startsWith("-") !== true) continue;
    const detail = `The argument "${name}" of the address must not begin with a dash.`;
    throw new ModuleError("Invalid module source address", detail);
  }
  const address = at < 0 ? text : text.slice(0, at);
  checkPort(address);
  const rest = query.toString();
  return { address: rest === "" ? address : `${address}?${rest}`, ref, sshKey };
}

function checkPort(address: string): void {
  const [, port] =
    /^[a-z+]+:\/\/(?:[^/]*@)?[^/@:]*:([^/@]*)(?:\/|$)/i.exec(
      address.replace(/\/\/[^/@]*@/, "//"),
    ) ?? [];
  if (port === undefined || /^\d+$/.test(port) || address.startsWith("file:")) return;
  const detail = `The port "${port}" is not a number. An address in the form of scp, as in git@host:path, is written without a scheme.`;
  throw new ModuleError("Invalid module source address", detail);
}

/** The environment of the user without what belongs to another repository, such as one whose hook runs the command. */
function gitEnvironment(env: NodeJS.ProcessEnv, key: string | undefined): NodeJS.ProcessEnv {
  const clean = Object.fromEntries(
    Object.entries(env).filter(
      ([name]) =>
        !/^GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|QUARANTINE_PATH|EXTERNAL_DIFF|TRACE.*)$/.test(
          name,
        ),
    ),
  );
  return {
    GIT_TERMINAL_PROMPT: "0",
    PATH: process.env["PATH"],
    ...clean,
    LC_ALL: "C",
    ...(key !== undefined && {
      GIT_SSH_COMMAND: `${env["GIT_SSH_COMMAND"] ?? "ssh"} -i '${key}'`,
    }),
  };
}

/** A private key of an address, in a file that only the user reads. */
async function keyFile(encoded: string): Promise<{ readonly path: string } & AsyncDisposable> {
  const folder = await mkdtempDisposable(join(tmpdir(), "stackwright-key-"));
  const path = join(folder.path, "key");
  // Queries turn the plus of base64 into a space.
  const key = Buffer.from(encoded.replaceAll(" ", "+"), "base64");
  await writeFile(path, key, { mode: 0o600 });
  return { path, [Symbol.asyncDispose]: async () => folder.remove() };
}
