import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const FOLDERS = ["packages", "apps", "tools", "e2e", "examples"];

/**
 * A copy of the sources with the installed packages of the original, in which a file can be changed while it is tested: an
 * interrupted run leaves no changed source in the work tree.
 */
export class Sandbox implements Disposable {
  readonly root: string;

  constructor(original: string) {
    this.root = mkdtempSync(join(tmpdir(), "stackwright-mutation-"));
    for (const folder of FOLDERS) {
      cpSync(join(original, folder), join(this.root, folder), {
        recursive: true,
        verbatimSymlinks: true,
        filter: (path) => !["dist", ".turbo", ".cache", ".vite"].includes(basename(path)),
      });
    }
    for (const file of readdirSync(original, { withFileTypes: true })) {
      if (file.isFile()) cpSync(join(original, file.name), join(this.root, file.name));
    }
    const installed = join(original, "node_modules");
    mkdirSync(join(this.root, "node_modules"));
    for (const name of readdirSync(installed)) {
      // Those of the workspace lead to the copies, and nothing is written to the cache of the original.
      if (name === "@stackwright" || name === "stackwright" || name === ".cache") continue;
      symlinkSync(join(installed, name), join(this.root, "node_modules", name));
    }
    cpSync(join(installed, "@stackwright"), join(this.root, "node_modules", "@stackwright"), {
      recursive: true,
      verbatimSymlinks: true,
    });
    appendFileSync(
      join(this.root, "vitest.setup.ts"),
      'import "./tools/mutation/src/record-hits.ts";\n',
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
