import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { EngineError } from "@stackwright/core/errors";
import { ChildOutput } from "./child-output.ts";
import {
  CHILD_PROTOCOL,
  CONTROL_FD,
  type ControlFrame,
  EVENTS_FD,
  type EventFrame,
} from "./child-protocol.ts";
import type { ExecutionJob, ExecutionResult } from "./execution-job.ts";
import type { Execution, ExecutionEnd, ExecutionHost, Executor, LossReason } from "./executor.ts";
import { readFrames, writeFrame } from "./frames.ts";
import { watchGroupMemory } from "./group-memory.ts";
import { secretsOf } from "./job-secrets.ts";

interface ChildExecutorOptions {
  readonly logger?: Logger | undefined;
  readonly clock?: Clock;
  /** The worker's environment, of which a child gets what names programs, the network and its authorities. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where children keep what the compiler made of their code, so that the next one starts faster. @default nowhere */
  readonly compileCache?: string | undefined;
  /** How long a child has to answer. @default 30,000 */
  readonly startDeadlineMs?: number;
  /** Bytes of memory that the processes of an execution have together. @default no bound */
  readonly maxMemoryBytes?: number | undefined;
}

/** Variables that a child inherits; all others stay with the worker. */
const INHERITED =
  /^(?:PATH|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|TF_CLI_CONFIG_FILE|TF_PLUGIN_CACHE_DIR)$/;

/**
 * Executes each step in a process of its own: with an empty environment but for what reaches the network, in its own process
 * group, which is ended as a whole. Secrets pass through the control pipe alone.
 */
export function createChildExecutor(options: ChildExecutorOptions = {}): Executor {
  const running = new Set<ChildExecution>();
  return {
    kind: "child",
    isRemote: true,
    start: (job, host) => {
      const execution = new ChildExecution(job, host, options);
      running.add(execution);
      void execution.ended.then(() => running.delete(execution));
      return execution;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Array.from(running, async (one) => one[Symbol.asyncDispose]()));
    },
  };
}

class ChildExecution implements Execution {
  readonly ended: Promise<ExecutionEnd>;
  readonly #child: ChildProcess;
  readonly #host: ExecutionHost;
  readonly #control: Writable;
  readonly #isBounded: boolean;
  #lost: LossReason | undefined;
  #result: ExecutionResult | undefined;

  constructor(job: ExecutionJob, host: ExecutionHost, options: ChildExecutorOptions) {
    const { env = process.env, clock = systemClock, logger } = options;
    this.#host = host;
    this.#isBounded = options.maxMemoryBytes !== undefined;
    const entry = fileURLToPath(
      new URL(`./child-main${extname(import.meta.url)}`, import.meta.url),
    );
    const inherited = Object.entries(env).filter(([name]) => INHERITED.test(name));
    const { maxMemoryBytes } = options;
    const secrets = secretsOf(job);
    this.#child = spawn(process.execPath, [...memoryArguments(maxMemoryBytes), entry], {
      cwd: job.folder,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
      env: {
        ...Object.fromEntries(inherited),
        LANG: "C.UTF-8",
        HOME: job.folder,
        TMPDIR: job.folder,
        ...(options.compileCache !== undefined && { NODE_COMPILE_CACHE: options.compileCache }),
      },
    });
    // Without a listener from the start, a machine without free descriptors would end the server.
    this.#child.on("error", (error) => {
      logger?.warn({ run: job.run, err: error }, "a process could not be started");
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      const output = new ChildOutput(secrets, (text) => {
        logger?.warn({ run: job.run, text }, "an executor wrote");
      });
      stream?.on("data", (chunk: Buffer) => output.take(chunk));
      stream?.once("close", () => output.end());
    }
    this.#control = this.#child.stdio[CONTROL_FD] as Writable;
    // The child may be gone while something is said to it.
    this.#control.on("error", () => undefined);
    const starting = clock.after(options.startDeadlineMs ?? 30_000, () => {
      this.#end("start_deadline");
    });
    const over = new AbortController();
    const { pid } = this.#child;
    if (pid !== undefined && maxMemoryBytes !== undefined) {
      const bound = { group: pid, maxBytes: maxMemoryBytes };
      void watchGroupMemory(bound, clock, over.signal, () => this.#end("memory"));
    }
    const reading = this.#read(this.#child.stdio[EVENTS_FD] as Readable, () => {
      starting[Symbol.dispose]();
    }).catch((error: unknown) => {
      logger?.error({ run: job.run, err: error }, "an executor broke the protocol");
      this.#kill();
    });
    this.#say({ type: "job", job });
    this.ended = new Promise<ExecutionEnd>((resolve) => {
      const finish = (code: number | null, signal: string | null): void => {
        starting[Symbol.dispose]();
        over.abort();
        // Providers live in the group.
        this.#kill();
        void reading.then(() => resolve(this.#endOf(code, signal)));
      };
      this.#child.once("exit", finish);
      this.#child.once("error", () => finish(1, null));
    });
  }

  stop(stage: 1 | 2): void {
    this.#say({ type: "cancel", stage });
    if (stage === 2) this.#kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.ended;
  }

  async #read(events: Readable, onHello: () => void): Promise<void> {
    for await (const frame of readFrames(events)) {
      const received = frame as EventFrame;
      switch (received.type) {
        case "hello":
          if (received.protocol !== CHILD_PROTOCOL) throw new TypeError("another protocol");
          onHello();
          break;
        case "event":
          // What is not read waits in the child.
          await this.#host.onEvent(received.event, received.at);
          break;
        case "begin-planning":
          void this.#answer(received.id, this.#host.beginPlanning());
          break;
        case "begin-apply":
          void this.#answer(received.id, this.#host.beginApply(BigInt(received.epoch)));
          break;
        case "result":
          this.#result = received.result;
          break;
        default:
          throw new TypeError(`an unknown frame: ${JSON.stringify(received satisfies never)}`);
      }
    }
  }

  async #answer(id: number, asked: Promise<void>): Promise<void> {
    try {
      await asked;
      this.#say({ type: "answer", id });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof EngineError ? { code: error.code } : {};
      this.#say({ type: "answer", id, error: message, ...code });
    }
  }

  #say(frame: ControlFrame): void {
    if (!this.#control.writable) return;
    writeFrame(this.#control, frame).catch(() => this.#end("too_large"));
  }

  #end(reason: LossReason): void {
    this.#lost ??= reason;
    this.#kill();
  }

  #kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing of the group is left.
    }
  }

  #endOf(code: number | null, signal: string | null): ExecutionEnd {
    if (this.#result !== undefined) return { how: "result", result: this.#result };
    if (this.#lost !== undefined) return { how: "lost", reason: this.#lost };
    // V8 aborts where its heap is full.
    if (this.#isBounded && signal === "SIGABRT") return { how: "lost", reason: "memory" };
    return signal === null ? { how: "exit", code: code ?? 1 } : { how: "signal", signal };
  }
}

const MIB = 1024 * 1024;

/** The heap of the executor has half of the memory: the rest is for its providers, buffers and code. */
function memoryArguments(maxBytes: number | undefined): string[] {
  if (maxBytes === undefined) return [];
  return [`--max-old-space-size=${Math.max(64, Math.floor(maxBytes / 2 / MIB))}`];
}
