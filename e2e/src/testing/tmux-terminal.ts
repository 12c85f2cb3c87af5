import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { COMMAND } from "./cli.ts";
import type { Scratch } from "./scratch.ts";
import { waitFor } from "./wait-for.ts";

const run = promisify(execFile);

/** Why there is no tmux to draw with; undefined where there is one. */
export async function tmuxIsMissing(): Promise<string | undefined> {
  return run("tmux", ["-V"]).then(
    () => undefined,
    () => "tmux is not installed; `apt-get install tmux` adds it",
  );
}

export interface TerminalOptions {
  readonly columns: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What stands behind the command in the shell, such as `| cat`. */
  readonly behind?: string;
}

/**
 * A real pseudo-terminal in which the command runs, drawn by tmux: what stands on the screen is what a person would
 * see. Every byte that was written to it is kept beside.
 */
export class TmuxTerminal implements AsyncDisposable {
  readonly #folder: string;
  readonly #name: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(scratch: Scratch, name: string) {
    this.#folder = scratch.folder;
    this.#name = name;
    // A socket of its own: the server of a person who works on this machine is not touched.
    this.#env = { ...scratch.env, TMUX_TMPDIR: scratch.folder, TERM: "xterm-256color" };
  }

  /** Starts the command in a new terminal. */
  static async start(
    scratch: Scratch,
    words: readonly string[],
    options: TerminalOptions,
  ): Promise<TmuxTerminal> {
    const name = `t${Math.random().toString(36).slice(2, 10)}`;
    const terminal = new TmuxTerminal(scratch, name);
    const quoted = [...COMMAND, ...words].map(quote).join(" ");
    const script = join(scratch.folder, `${name}.sh`);
    const go = join(scratch.folder, `${name}.go`);
    // The pipe that keeps the bytes has to be there before the first of them is written.
    await writeFile(
      script,
      [
        "#!/bin/bash",
        `while [ ! -e ${quote(go)} ]; do sleep 0.02; done`,
        `${quoted} ${options.behind ?? ""}`,
        // Comes behind everything that the command wrote, so that the screen is whole when this is on it.
        `printf '\\n[exit %s]' $?`,
        // The screen stays until the test has looked at it.
        "read -r _",
        "",
      ].join("\n"),
    );
    const env = Object.entries({ ...scratch.env, ...options.env }).map(
      ([key, value]) => `${key}=${value}`,
    );
    const settings = join(scratch.folder, `${name}.conf`);
    await writeFile(settings, "set -g history-limit 20000\nset -g status off\n");
    const size = ["-x", String(options.columns), "-y", String(options.rows ?? 40)];
    const start = `env ${env.map(quote).join(" ")} bash ${quote(script)}`;
    const session = ["new-session", "-d", "-s", name, ...size, "-c", scratch.work, start];
    await terminal.#tmux("-f", settings, ...session);
    await terminal.#tmux("set-window-option", "-t", name, "window-size", "manual");
    await terminal.#tmux(
      "pipe-pane",
      "-t",
      name,
      `cat >> ${quote(join(scratch.folder, `${name}.raw`))}`,
    );
    await writeFile(go, "");
    return terminal;
  }

  /** Every line that stands in the terminal, those that have scrolled away first; colours with `-e`. */
  async screen({ colors = false }: { readonly colors?: boolean } = {}): Promise<string> {
    const args = ["capture-pane", "-p", "-t", this.#name, "-S", "-", ...(colors ? ["-e"] : [])];
    const text = await this.#tmux(...args);
    return `${text.trimEnd()}\n`;
  }

  /** Everything that was written to the terminal, escape sequences with it. */
  bytes(): string {
    const path = join(this.#folder, `${this.#name}.raw`);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** Waits until the screen shows this. */
  async shows(text: string | RegExp, limitMs = 60_000): Promise<string> {
    let last = "";
    return waitFor(
      `"${text.toString()}" on the screen`,
      async () => {
        last = await this.screen();
        if (typeof text === "string" ? last.includes(text) : text.test(last)) return last;
        if (/^\[exit \d+\]$/m.test(last)) throw new Error(`ended without it:\n${last}`);
        return undefined;
      },
      { limitMs, seen: () => last },
    );
  }

  /** Presses keys, as tmux names them: `Enter`, `C-c`, `C-d`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", "-t", this.#name, ...keys);
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-t", this.#name, "-l", text);
    await this.press("Enter");
  }

  async resize(columns: number, rows = 40): Promise<void> {
    const size = ["-x", String(columns), "-y", String(rows)];
    await this.#tmux("resize-window", "-t", this.#name, ...size);
  }

  /** Waits for the end of the command and gives its exit code and the whole screen. */
  async end(limitMs = 90_000): Promise<{ readonly code: number; readonly screen: string }> {
    const shown = await this.shows(/\[exit \d+\]$/m, limitMs);
    const [, screen = "", code] = /^(.*)\n\[exit (\d+)\]\n$/s.exec(shown) ?? [];
    return { code: Number(code), screen: `${screen.trimEnd()}\n` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => undefined);
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-L", this.#name, ...args], {
      env: this.#env,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 20_000,
    });
    return stdout;
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
