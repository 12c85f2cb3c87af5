import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Scratch } from "./scratch.ts";

const SETTINGS = `[user]
  name = Ann
  email = ann@example.com
[init]
  defaultBranch = main
[safe]
  directory = *
`;

/** A working copy of a bare repository, in the folder of a scenario. */
export class GitWork {
  readonly #scratch: Scratch;
  readonly #folder: string;

  private constructor(scratch: Scratch, folder: string) {
    this.#scratch = scratch;
    this.#folder = folder;
  }

  static async begin(scratch: Scratch, bare: string): Promise<GitWork> {
    const folder = join(scratch.folder, "repository");
    await mkdir(folder);
    await writeFile(join(scratch.folder, ".gitconfig"), SETTINGS);
    const work = new GitWork(scratch, folder);
    await work.run("init", "--quiet");
    await work.run("remote", "add", "origin", bare);
    return work;
  }

  async run(...words: readonly string[]): Promise<string> {
    const env = { ...this.#scratch.env, GIT_CONFIG_NOSYSTEM: "1" };
    const { stdout } = await promisify(execFile)("git", words, { cwd: this.#folder, env });
    return stdout.trim();
  }

  /** Writes files, commits them, and pushes the branch. */
  async push(branch: string, files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.#folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    await this.run("add", "--all");
    await this.run("commit", "--quiet", "--message", `change ${branch}`);
    await this.run("push", "--quiet", "origin", `HEAD:${branch}`);
  }
}
