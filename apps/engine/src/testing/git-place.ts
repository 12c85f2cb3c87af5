import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

/** A bare repository and a working copy of it, in a folder that ends with the test. */
export async function createGitPlace() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "git-place-"));
  onTestFinished(() => scratch.remove());
  const bare = join(scratch.path, "repositories", "infra.git");
  const work = join(scratch.path, "work");
  const env = {
    PATH: process.env["PATH"],
    HOME: scratch.path,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Ann",
    GIT_AUTHOR_EMAIL: "ann@example.com",
    GIT_COMMITTER_NAME: "Ann",
    GIT_COMMITTER_EMAIL: "ann@example.com",
  };
  const git = async (...words: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)("git", words, { cwd: work, env });
    return stdout.trim();
  };
  await mkdir(work);
  await git("init", "--quiet", "--bare", "--initial-branch=main", bare);
  await git("init", "--quiet", "--initial-branch=main");
  await git("remote", "add", "origin", bare);
  return {
    folder: scratch.path,
    /** The folder of the bare repository. */
    repositories: dirname(bare),
    bare,
    work,
    env,
    git,
    /** Writes files, with the text `undefined` removing one, and commits them. */
    commit: async (
      files: Readonly<Record<string, string | undefined>>,
      message = "change",
    ): Promise<string> => {
      for (const [path, text] of Object.entries(files)) {
        const place = join(work, path);
        await mkdir(dirname(place), { recursive: true });
        if (text === undefined) await rm(place, { recursive: true });
        else await writeFile(place, text);
      }
      await git("add", "--all");
      await git("commit", "--quiet", "--message", message);
      return git("rev-parse", "HEAD");
    },
  };
}
