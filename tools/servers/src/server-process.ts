import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Account } from "./account.ts";
import type { Guard } from "./guard.ts";

/** What to run as a server. */
interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Working directory; the account must be able to enter it. */
  readonly cwd: string;
  /** Standard output and error are appended here. */
  readonly logFile: string;
  /** The user that the server runs as; the current one, when absent. */
  readonly account?: Account | undefined;
  readonly guard: Guard;
}

/**
 * Holds the server back until the guard watches it, so that there is no moment in which our death
 * would leave it behind: without a line on standard input the shell ends instead.
 */
const GATE = 'read -r go && exec "$@" </dev/null';

/** One running server process, leader of its own process group. */
export class ServerProcess {
  readonly pid: number;
  /** Settles when the process has ended; never rejects. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly #child: ChildProcess;
  #alive = true;

  private constructor(child: ChildProcess, pid: number, guard: Guard) {
    this.#child = child;
    this.pid = pid;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#alive = false;
        guard.forget().then(
          () => resolve({ code, signal }),
          () => resolve({ code, signal }),
        );
      });
    });
  }

  /** Starts the command under its guard; resolves before the server is ready. */
  static async start(server: ServerCommand): Promise<ServerProcess> {
    const log = openSync(server.logFile, "a", 0o600);
    try {
      const child = spawn("sh", ["-c", GATE, "sh", server.command, ...server.args], {
        cwd: server.cwd,
        env: server.env,
        detached: true,
        stdio: ["pipe", log, log],
        ...(server.account === undefined
          ? {}
          : { uid: server.account.uid, gid: server.account.gid }),
      });
      const pid = await spawned(child);
      child.stdin?.on("error", () => {});
      const process = new ServerProcess(child, pid, server.guard);
      await server.guard.watch(pid);
      child.stdin?.end("go\n");
      return process;
    } finally {
      closeSync(log);
    }
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Sends a signal to the server itself; does nothing when it has ended. */
  signal(name: NodeJS.Signals): void {
    if (this.#alive) this.#child.kill(name);
  }

  /** Kills the whole process group at once and waits until the leader is reaped. */
  async killGroup(): Promise<void> {
    if (this.#alive) {
      try {
        process.kill(-this.pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    await this.exited;
  }

  /** Asks with `name`, and kills the group when the server is still there after `graceMs`. */
  async end(name: NodeJS.Signals, graceMs: number): Promise<void> {
    // A frozen process would not see the request.
    this.signal("SIGCONT");
    this.signal(name);
    const timer = setTimeout(() => void this.killGroup(), graceMs);
    await this.exited;
    clearTimeout(timer);
  }
}

function spawned(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => resolve(child.pid!));
  });
}
