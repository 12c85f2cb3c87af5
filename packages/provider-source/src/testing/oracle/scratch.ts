import { lstat, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory for one test, removed at its end. */
export class Scratch implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async create(): Promise<Scratch> {
    return new Scratch(await mkdtemp(join(tmpdir(), "provider-source-")));
  }

  path(...parts: readonly string[]): string {
    return join(this.root, ...parts);
  }

  /** Everything below a directory: modes and contents of files, slashes for directories. */
  async tree(directory = this.root): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const walk = async (prefix: string): Promise<void> => {
      for (const name of (await readdir(join(directory, prefix))).toSorted()) {
        const path = prefix === "" ? name : `${prefix}/${name}`;
        const info = await lstat(join(directory, path));
        if (info.isDirectory()) {
          found[`${path}/`] = "";
          await walk(path);
        } else if (info.isFile()) {
          const content = (await readFile(join(directory, path))).toString("latin1");
          found[path] = `${(info.mode & 0o777).toString(8)} ${content}`;
        } else found[path] = "neither";
      }
    };
    await walk("");
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}
