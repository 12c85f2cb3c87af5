import { type ChildProcess, spawn } from "node:child_process";
import { extname, parse } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ServerError } from "../domain/server-error.ts";
import { CONTROL_FD, EVENTS_FD } from "./child-protocol.ts";
import { heapArgument, INHERITED, INHERITED_PATHS } from "./executor-process.ts";

export interface ExecutorChildOptions {
  /** The worker's environment, of which a child gets what names programs, the network and its authorities. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where children keep what the compiler made of their code, so that the next one starts faster. @default nowhere */
  readonly compileCache?: string | undefined;
  /** Bytes of memory that the processes of an execution have together. @default no bound */
  readonly maxMemoryBytes?: number | undefined;
}

/**
 * What a child gets of the worker's environment. The child itself trusts all authorities that are named; programs for Node that it starts,
 * such as providers, take one by a variable of Node's alone.
 */
export function inheritedBy(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inherited: NodeJS.ProcessEnv = Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => name === "PATH" || INHERITED.test(name) || INHERITED_PATHS.test(name),
    ),
  );
  const authority = inherited["NODE_EXTRA_CA_CERTS"] || inherited["SSL_CERT_FILE"];
  return authority === undefined || authority === ""
    ? inherited
    : { ...inherited, NODE_EXTRA_CA_CERTS: authority };
}

function noDescriptors(): ServerError {
  return new ServerError(
    "internal",
    "no executor could be started: the worker has no free file descriptors; raise its limit (ulimit -n), or let it execute fewer steps at once",
  );
}

/**
 * A process for one execution: with an empty environment but for what reaches the network, in its own process group. It knows nothing of
 * any run until it gets its job.
 */
export class ExecutorChild {
  readonly process: ChildProcess;
  #isOver = false;

  constructor({ env = process.env, compileCache, maxMemoryBytes }: ExecutorChildOptions) {
    const entry = fileURLToPath(
      new URL(`./child-main${extname(import.meta.url)}`, import.meta.url),
    );
    const bounds = maxMemoryBytes === undefined ? [] : [heapArgument(maxMemoryBytes)];
    this.process = spawn(process.execPath, [...bounds, entry], {
      // It enters the folder of its job, which is not known yet.
      cwd: parse(process.execPath).root,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
      env: {
        ...inheritedBy(env),
        LANG: "C.UTF-8",
        ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
      },
    });
    const over = (): void => void (this.#isOver = true);
    // Without a listener from the start, a machine without free descriptors would end the server.
    this.process.once("error", over).once("exit", over);
    // Such a machine gives it no pipes either.
    if ((this.process as Partial<ChildProcess>).stdio === undefined) throw noDescriptors();
    // It may end before anything is said to it.
    this.control.on("error", () => undefined);
  }

  get control(): Writable {
    return this.process.stdio[CONTROL_FD] as Writable;
  }

  get events(): Readable {
    return this.process.stdio[EVENTS_FD] as Readable;
  }

  /** Whether the process has ended, or could not be started. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends it with everything that it started. */
  kill(): void {
    const { pid } = this.process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing of the group is left.
    }
  }
}
