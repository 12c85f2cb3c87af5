import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A throw-away folder that stands for `tools/`, with a cache and a `go` command beside it. */
export class ToolsFolder implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "stackwright-tools-test-"));
  readonly tools = join(this.root, "tools");
  readonly cache = join(this.root, "cache");

  constructor() {
    mkdirSync(this.tools);
  }

  /** Writes a file below `tools/` and returns its path. */
  write(file: string, content: string | object): string {
    const path = join(this.tools, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /**
   * A shell script in the place of Go: `go env` answers like Go, `go build` runs `build` with the
   * output path in `$out`, after a line in `builds.log`.
   */
  fakeGo(build: string, version = "go1.26.0"): string {
    const path = join(this.root, "go");
    writeFileSync(
      path,
      `#!/bin/sh
if [ "$1" = env ]; then printf '%s\\n' ${version} linux amd64; exit 0; fi
echo build >> '${this.root}/builds.log'
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done
${build}
`,
    );
    chmodSync(path, 0o755);
    return path;
  }

  get buildsLog(): string {
    return join(this.root, "builds.log");
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
