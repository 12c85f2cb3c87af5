import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Account } from "./account.ts";
import { childProcesses, killProcesses } from "./child-processes.ts";
import type { Guard } from "./guard.ts";
import { ServerProcess } from "./server-process.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

/** What distinguishes one kind of server from another. */
export interface ServerKind {
  /** For messages, for example `etcd member-1`. */
  readonly name: string;
  /** Everything the server writes; removed at the end. */
  readonly folder: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly account?: Account | undefined;
  /** The signal that asks for a clean end. */
  readonly stopSignal: NodeJS.Signals;
  /** Whether the process with this id serves. */
  readonly isReady: (pid: number) => boolean | Promise<boolean>;
  readonly startTimeoutMs: number;
  readonly guard: Guard;
}

const STOP_GRACE_MS = 10_000;
const KILL_WAIT_MS = 10_000;

/**
 * A real server on loopback, in a folder of its own. It ends, and its folder goes, with `stop`,
 * with `await using`, and when this process dies, `kill -9` included.
 */
export class ManagedServer implements AsyncDisposable {
  readonly #kind: ServerKind;
  #process: ServerProcess | undefined;
  #stopped: Promise<void> | undefined;

  protected constructor(kind: ServerKind) {
    this.#kind = kind;
  }

  /** Of the server now running; undefined after `kill9` or `stop`. */
  get pid(): number | undefined {
    return this.#process?.alive ? this.#process.pid : undefined;
  }

  get name(): string {
    return this.#kind.name;
  }

  get dataDir(): string {
    return this.#kind.dataDir;
  }

  /** Output of all starts, one after the other. */
  get logFile(): string {
    return this.#kind.logFile;
  }

  /** Starts the process without waiting for it to be ready: members of a cluster need each other. */
  async launch(): Promise<void> {
    if (this.#stopped) throw new Error(`${this.name} was stopped, its data is gone`);
    if (this.pid !== undefined) return;
    const { command, args, account, folder, logFile, guard } = this.#kind;
    mkdirSync(dirname(logFile), { recursive: true });
    // The server gets no setting from the variables of the user who runs the tests.
    const env = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC", HOME: folder };
    this.#process = await ServerProcess.start({
      command,
      args,
      account,
      logFile,
      guard,
      env,
      cwd: folder,
    });
  }

  /** Resolves when the server serves; see `waitUntilReady` for the errors. */
  async ready(signal?: AbortSignal): Promise<void> {
    const process = this.#process;
    if (!process) throw new Error(`${this.name} was not launched`);
    const { name, isReady, logFile, startTimeoutMs } = this.#kind;
    await waitUntilReady(process, {
      what: name,
      logFile,
      signal,
      isReady: () => isReady(process.pid),
      timeoutMs: startTimeoutMs,
    });
  }

  /** Starts it again on the same data and ports, after a clean end where it still runs. */
  async restart(signal?: AbortSignal): Promise<void> {
    await this.#process?.end(this.#kind.stopSignal, STOP_GRACE_MS);
    await this.launch();
    await this.ready(signal);
  }

  /** Kills the server and its children at once, as a crash would; its data stays for `restart`. */
  async kill9(): Promise<void> {
    const running = this.#process;
    if (!running?.alive) return;
    // The children are read first: afterwards their parent is unknown. While the server is frozen it makes no further
    // ones.
    running.signal("SIGSTOP");
    const children = childProcesses(running.pid);
    await running.killGroup();
    await killProcesses(children, KILL_WAIT_MS);
  }

  /** Freezes the server: connections stay open and nothing answers. */
  pause(): void {
    this.#process?.signal("SIGSTOP");
  }

  resume(): void {
    this.#process?.signal("SIGCONT");
  }

  /** Ends the server and removes its folder. Idempotent, and never leaves either behind. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #end(): Promise<void> {
    await this.#process?.end(this.#kind.stopSignal, STOP_GRACE_MS);
    rmSync(this.#kind.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    this.#kind.guard.release();
  }
}
