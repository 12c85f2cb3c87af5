import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Set for everything that a test starts, so that what is left of it can be found. */
const MARK = "STACKWRIGHT_E2E_TEST";
const LEFTOVER_MS = 10_000;

/**
 * A temporary folder for one test with a place for its configuration, and the environment of what it starts:
 * nothing of the surroundings but `PATH`, a home of its own, no network.
 *
 * Disposing it proves that no process of the test is left, ends those that are, and removes the folder.
 */
export class Scratch implements AsyncDisposable {
  readonly folder: string;
  /** The folder of the configuration. Its name has a blank, as the folders of people do. */
  readonly work: string;
  readonly env: Readonly<Record<string, string>>;

  private constructor(folder: string) {
    this.folder = folder;
    this.work = join(folder, "my stack");
    this.env = {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      TMPDIR: folder,
      LC_ALL: "C.UTF-8",
      TZ: "UTC",
      TF_CLI_CONFIG_FILE: join(folder, "rc"),
      [MARK]: folder,
    };
  }

  static async make(): Promise<Scratch> {
    const scratch = new Scratch(await mkdtemp(join(tmpdir(), "stackwright e2e-")));
    await mkdir(scratch.work);
    await writeFile(join(scratch.folder, "rc"), "");
    return scratch;
  }

  /** Writes files of the configuration, by their path in it. */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.work, name);
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, text);
    }
  }

  /** Puts the provider `example.com/e2e/gate` where installations look for it. */
  async installGateProvider(): Promise<void> {
    const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
    const place = join(this.work, "terraform.d/plugins/example.com/e2e/gate/1.0.0", platform);
    const program = join(place, "terraform-provider-gate_v1.0.0");
    await mkdir(place, { recursive: true });
    const main = join(import.meta.dirname, "provider/main.ts");
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    await chmod(program, 0o755);
  }

  /** Where the gate provider keeps its files. */
  get site(): string {
    return join(this.work, "site");
  }

  /** Opens a gate. */
  async open(gate: string): Promise<void> {
    await mkdir(this.site, { recursive: true });
    await writeFile(join(this.site, gate), "");
  }

  /** Closes a gate again. */
  async close(gate: string): Promise<void> {
    await rm(join(this.site, gate), { force: true });
  }

  /** The calls that began at the gate provider so far. */
  calls(): string[] {
    const path = join(this.site, "calls.log");
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const deadline = performance.now() + LEFTOVER_MS;
    let left = this.#processes();
    while (left.length > 0 && performance.now() < deadline) {
      await delay(50);
      left = this.#processes();
    }
    for (const { pid } of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Gone in between.
      }
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    if (left.length > 0) {
      throw new Error(`left behind: ${left.map(({ command }) => command).join("; ")}`);
    }
  }

  /** Processes that were started with the environment of this test. */
  #processes(): { readonly pid: number; readonly command: string }[] {
    if (process.platform !== "linux") return [];
    const mark = `${MARK}=${this.folder}\0`;
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .flatMap((name) => {
        try {
          // A zombie has no environment any more.
          if (!`${readFileSync(`/proc/${name}/environ`, "latin1")}\0`.includes(mark)) return [];
          const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
          return [{ pid: Number(name), command }];
        } catch {
          return [];
        }
      });
  }
}
