import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withFolderLimit } from "@stackwright/core/modules";
import { ModuleError } from "@stackwright/lang";
import { ServerError } from "../../domain/server-error.ts";
import { GitError, type GitOptions, runGit } from "./run-git.ts";

/** Where a repository is fetched from. */
interface GitSource {
  readonly address: string;
  readonly header?: GitOptions["header"];
  readonly protocols: string;
  /** The only addresses of its host, as they are now. @default what the system resolves */
  readonly pinned?: () => Promise<string | undefined>;
}

interface GitRepositoryOptions extends GitSource {
  /** A folder of its own, below one that exists. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Of what git writes there. @default 2 GiB */
  readonly maxBytes?: number;
}

/** An entry of a tree. */
export interface TreeEntry {
  readonly path: string;
  readonly kind: "file" | "program" | "link" | "submodule";
  /** Id of the blob. */
  readonly blob: string;
  readonly size: number;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
/** Entries of one tree. */
const MAX_ENTRIES = 200_000;

/**
 * A bare copy of a repository. Nothing of it is ever checked out: trees are read as data, so that neither hooks nor filters, links or
 * attributes of the repository do anything.
 */
export class GitRepository {
  readonly #options: GitRepositoryOptions;

  constructor(options: GitRepositoryOptions) {
    this.#options = options;
  }

  /** Fetches references; resolves with the commit of each. A reference that the repository lacks has none. */
  async fetch(references: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const existed = existsSync(join(this.#options.folder, "HEAD"));
    try {
      return await this.#fetch(references);
    } catch (error) {
      // What a killed git left behind, or what came together since the copy was made: it is made again.
      const isDamaged =
        error instanceof GitError && /\.lock'|corrupt|bad object|not a git/i.test(error.message);
      const isGrown = error instanceof ModuleError && existed;
      if (!isDamaged && !isGrown) throw error;
      await rm(this.#options.folder, { recursive: true, force: true });
      return this.#fetch(references);
    }
  }

  /** Lists references that patterns match, such as `refs/heads/*`, with their commits. Nothing is fetched. */
  async list(patterns: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const cwd = await this.#parent();
    const pinned = await this.#options.pinned?.();
    const { address } = this.#options;
    const listed = await this.#git(["ls-remote", "--", address, ...patterns], { cwd, pinned });
    const found = new Map<string, string>();
    for (const line of listed.toString("utf8").split("\n")) {
      const [commit = "", name = ""] = line.split("\t");
      if (COMMIT.test(commit)) found.set(name, commit);
    }
    return found;
  }

  /** The folder of the copy's folder, made where there is none. */
  async #parent(): Promise<string> {
    const folder = dirname(this.#options.folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  async #fetch(references: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { folder, address, signal, maxBytes = 2 * 1024 ** 3 } = this.#options;
    const cwd = await this.#parent();
    if (!existsSync(join(folder, "HEAD"))) {
      await this.#git(["init", "--quiet", "--bare", "--template=", folder], { cwd });
    }
    const pinned = await this.#options.pinned?.();
    const listed = await this.#git(["ls-remote", "--", address, ...references], { pinned });
    const found = new Map<string, string>();
    for (const line of listed.toString("utf8").split("\n")) {
      const [commit = "", name = ""] = line.split("\t");
      if (COMMIT.test(commit) && references.includes(name)) found.set(name, commit);
    }
    if (found.size === 0) return found;
    const specs = [...found.keys()].map((name) => `+${name}:${copyOf(name)}`);
    await withFolderLimit(folder, { signal, maxBytes }, async (until) =>
      this.#git(
        ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", address, ...specs],
        { signal: until, pinned },
      ),
    );
    await this.#pack();
    // What was fetched, in case that it moved since it was listed.
    for (const name of found.keys()) {
      found.set(name, await this.#text(["rev-parse", `${copyOf(name)}^{commit}`]));
    }
    return found;
  }

  /** Marks the copy as used, and packs what many fetches left. */
  async #pack(): Promise<void> {
    const { folder } = this.#options;
    const now = new Date();
    await utimes(join(folder, "HEAD"), now, now);
    const settings = ["-c", "gc.auto=6700", "-c", "gc.autoDetach=false"];
    await this.#git([...settings, "gc", "--auto", "--quiet", "--prune=now"]);
  }

  /** Whether a commit is known here. */
  async has(commit: string): Promise<boolean> {
    return this.#holds(["cat-file", "-e", `${commit}^{commit}`]);
  }

  /** Whether a tree is here: that of a merge is lost with the copy, and where nothing refers to it. */
  async hasTree(tree: string): Promise<boolean> {
    return this.#holds(["cat-file", "-e", `${tree}^{tree}`]);
  }

  /** Whether one commit is another one or in its past. */
  async isAncestor(commit: string, of: string): Promise<boolean> {
    return this.#holds(["merge-base", "--is-ancestor", commit, of]);
  }

  async treeOf(commit: string): Promise<string> {
    return this.#text(["rev-parse", `${commit}^{tree}`]);
  }

  async subjectOf(commit: string): Promise<{ readonly title: string; readonly author: string }> {
    const text = await this.#git(["log", "-1", "--format=%an%x00%s", commit, "--"]);
    const [author = "", title = ""] = text.toString("utf8").trim().split("\0");
    return { title: title.slice(0, 256), author: author.slice(0, 128) };
  }

  /** The tree that a merge of two commits would have; undefined where they conflict. */
  async mergedTree(base: string, head: string): Promise<string | undefined> {
    try {
      const text = await this.#text(["merge-tree", "--write-tree", "--no-messages", base, head]);
      return text.split("\n")[0];
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      if (error.exitCode === 1 || /unrelated histories/.test(error.message)) return undefined;
      throw error;
    }
  }

  /** Paths that differ between two trees; of a moved file both. */
  async changedPaths(before: string, after: string): Promise<readonly string[]> {
    const words = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", before, after, "--"];
    return (await this.#git(words))
      .toString("utf8")
      .split("\0")
      .filter((path) => path !== "");
  }

  /** Every entry of a tree. */
  async entries(tree: string): Promise<readonly TreeEntry[]> {
    const text = (await this.#git(["ls-tree", "-r", "-z", "-l", "--full-tree", tree])).toString(
      "utf8",
    );
    const lines = text.split("\0").filter((line) => line !== "");
    if (lines.length > MAX_ENTRIES) {
      throw new ServerError("unprocessable", `the repository has more than ${MAX_ENTRIES} files`);
    }
    return lines.flatMap((line) => {
      const [, mode = "", blob = "", size = "", path = ""] =
        /^(\d{6}) \w+ ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(line) ?? [];
      const kind = KINDS[mode];
      return kind === undefined ? [] : [{ path, kind, blob, size: Number(size) || 0 }];
    });
  }

  /** The contents of blobs, in the order of their ids. */
  async blobs(ids: readonly string[], maxBytes: number): Promise<readonly Buffer[]> {
    if (ids.length === 0) return [];
    const all = await this.#git(["cat-file", "--batch"], {
      input: `${ids.join("\n")}\n`,
      maxBytes: maxBytes + 128 * ids.length,
    });
    let at = 0;
    return ids.map((id) => {
      const end = all.indexOf(10, at);
      const [, type, size] = all.toString("latin1", at, end).split(" ");
      if (type !== "blob") throw new GitError(`the repository lacks the object ${id}`, 0);
      const content = all.subarray(end + 1, end + 1 + Number(size));
      at = end + 1 + Number(size) + 1;
      return content;
    });
  }

  async #text(words: readonly string[]): Promise<string> {
    return (await this.#git(words)).toString("utf8").trim();
  }

  /** Whether a question is answered with yes; any other failure rejects. */
  async #holds(words: readonly string[]): Promise<boolean> {
    // Nothing was fetched here yet, or the copy was removed.
    if (!existsSync(join(this.#options.folder, "HEAD"))) return false;
    try {
      await this.#git(words);
      return true;
    } catch (error) {
      const isNo = error instanceof GitError && (error.exitCode === 1 || error.exitCode === 128);
      if (isNo) return false;
      throw error;
    }
  }

  async #git(words: readonly string[], given: Partial<GitOptions> = {}): Promise<Buffer> {
    const { folder, env, header, protocols, signal } = this.#options;
    return runGit(words, {
      cwd: folder,
      env,
      protocols,
      signal,
      ...(header !== undefined && { header }),
      ...given,
    });
  }
}

/** What a reference is called here: no name is a folder of another one, as may be the case with branches that follow each other. */
function copyOf(name: string): string {
  return `refs/stackwright/${createHash("sha256").update(name).digest("hex")}`;
}

const KINDS: Readonly<Record<string, TreeEntry["kind"]>> = {
  "100644": "file",
  "100664": "file",
  "100755": "program",
  "120000": "link",
  "160000": "submodule",
};
