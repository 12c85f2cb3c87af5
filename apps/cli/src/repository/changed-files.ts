import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CommandError } from "../command-error.ts";

const run = promisify(execFile);
/** Longest list of files, in bytes. */
const MAX_OUTPUT = 64 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

/** The files of a repository that differ from where its branch began. */
interface ChangedFiles {
  /** The folder of the repository, absolute. */
  readonly root: string;
  /** The commit that is compared with. */
  readonly base: string;
  /** Relative to the root, with forward slashes: changed, added and removed files, also those that are not committed. */
  readonly files: readonly string[];
}

/**
 * What has changed since the branch of a folder left `base`.
 *
 * @param base a branch, a tag or a commit
 * @throws CommandError where there is no repository, or no such commit in it
 */
export async function changedFiles(
  directory: string,
  base: string,
  signal: AbortSignal,
): Promise<ChangedFiles> {
  const git = async (...words: readonly string[]): Promise<string> => {
    const { stdout } = await run("git", ["-C", directory, ...words], {
      maxBuffer: MAX_OUTPUT,
      timeout: TIMEOUT_MS,
      signal,
    });
    return stdout;
  };
  const root = (await git("rev-parse", "--show-toplevel").catch(noRepository(directory))).trim();
  const commit = await mergeBase(git, base);
  const changed = await git("diff", "--name-only", "--no-renames", "-z", commit, "--");
  const added = await git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", root);
  const files = [...changed.split("\0"), ...added.split("\0")].filter((path) => path !== "");
  return { root, base: commit, files: [...new Set(files)].toSorted() };
}

async function mergeBase(
  git: (...words: readonly string[]) => Promise<string>,
  base: string,
): Promise<string> {
  try {
    await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${base}^{commit}`);
  } catch (error) {
    if (isMissing(error)) throw error;
    throw new CommandError(`The repository has no commit "${base}".`, {
      advice:
        'Name a branch, a tag or a commit that was fetched, such as "origin/main". Pipelines often fetch the newest commit alone: have them fetch all (fetch-depth: 0).',
    });
  }
  try {
    return (await git("merge-base", "--", base, "HEAD")).trim();
  } catch (error) {
    if (isMissing(error)) throw error;
    throw new CommandError(`"${base}" and the present commit have no commit in common.`, {
      advice: "Fetch the history of both: pipelines often fetch the newest commit alone.",
    });
  }
}

function noRepository(directory: string): (error: unknown) => never {
  return (error) => {
    if (isMissing(error)) {
      throw new CommandError("The program git is needed, and is not installed.");
    }
    throw new CommandError(`"${directory}" is in no Git repository.`, { cause: error });
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
