import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { type Clock, sleep, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { ContainerCommand } from "./container-command.ts";
import type { ExecutionJob } from "./execution-job.ts";
import { ExecutionPipes } from "./execution-pipes.ts";
import type { Execution, ExecutionEnd, ExecutionHost, Executor, LossReason } from "./executor.ts";
import { heapArgument, INHERITED, INHERITED_PATHS, logProcess } from "./executor-process.ts";

/** Which containers executions are, as the operator says. */
export interface ContainerOptions {
  /** An image in which `stackwright` is on the path, of the release of the worker. */
  readonly image: string;
  /** The command of the engine with its first arguments. @default docker */
  readonly command?: readonly string[] | undefined;
  /** The network of the containers. @default that of the engine */
  readonly network?: string | undefined;
  /** Processor time of a container, in percent of one core. @default no bound */
  readonly cpuPercent?: number | undefined;
  /** Further folders and files, as the engine takes them: `/source:/target:ro`. */
  readonly volumes?: readonly string[] | undefined;
}

interface ContainerExecutorOptions extends ContainerOptions {
  /** On all containers of one store: the orphans among them are removed. */
  readonly instance: string;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock;
  /** The worker's environment, of which containers get what reaches the network and its authorities. */
  readonly env?: NodeJS.ProcessEnv;
  /** How long a container has to answer; its image may have to be pulled. @default 120,000 */
  readonly startDeadlineMs?: number;
  /** Bytes of memory of a container. @default no bound */
  readonly maxMemoryBytes?: number | undefined;
}

/**
 * Executes each step in a container of its own, through the command line of the engine. It sees the folder of its job, the folder of
 * installed providers and the socket of the store, and nothing else of the machine. Secrets pass through its standard input
 * alone.
 */
export function createContainerExecutor(options: ContainerExecutorOptions): Executor {
  const { env = process.env, instance, command = [] } = options;
  const [program = "docker", ...first] = command;
  const engine = new ContainerCommand([program, ...first], instance, env);
  const running = new Set<ContainerExecution>();
  return {
    kind: "container",
    isRemote: true,
    start: (job, host) => {
      const execution = new ContainerExecution(job, host, engine, options);
      running.add(execution);
      void execution.ended.then(() => running.delete(execution));
      return execution;
    },
    list: async () => engine.list(),
    remove: async ({ id }) => engine.remove(id),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Array.from(running, async (one) => one[Symbol.asyncDispose]()));
    },
  };
}

/** What a shell says for a process that a signal ended: 128 and its number. */
const SIGNAL_CODE = 128;
const [SIGABRT, SIGKILL] = [6, 9];
/** Between two attempts to end a container. */
const KILL_AGAIN_MS = 1_000;
/** Processes and threads of a container. */
const MAX_PIDS = 4_096;

class ContainerExecution implements Execution {
  readonly ended: Promise<ExecutionEnd>;
  readonly #name: string;
  readonly #engine: ContainerCommand;
  readonly #clock: Clock;
  readonly #isBounded: boolean;
  readonly #over = new AbortController();
  #pipes: ExecutionPipes | undefined;
  #lost: LossReason | undefined;
  #killing: Promise<void> | undefined;

  constructor(
    job: ExecutionJob,
    host: ExecutionHost,
    engine: ContainerCommand,
    options: ContainerExecutorOptions,
  ) {
    this.#name = engine.nameFor(job.name);
    this.#engine = engine;
    this.#clock = options.clock ?? systemClock;
    this.#isBounded = options.maxMemoryBytes !== undefined;
    this.ended = this.#execute(job, host, options)
      .catch((error: unknown): ExecutionEnd => {
        options.logger?.error({ run: job.run, err: error }, "a container could not be started");
        return { how: "exit", code: 1 };
      })
      .finally(() => this.#over.abort());
  }

  stop(stage: 1 | 2): void {
    this.#pipes?.cancel(stage);
    if (stage === 2) this.#kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.ended;
  }

  async #execute(
    job: ExecutionJob,
    host: ExecutionHost,
    options: ContainerExecutorOptions,
  ): Promise<ExecutionEnd> {
    await mkdir(providersOf(job), { recursive: true, mode: 0o700 });
    if (this.#isStopped()) return { how: "signal", signal: "SIGKILL" };
    const child = this.#engine.run(this.#name, argumentsOf(job, options));
    const exited = exitOf(child);
    const { logger, startDeadlineMs = 120_000 } = options;
    logProcess(child, [child.stderr], job, logger);
    const starting = this.#clock.after(startDeadlineMs, () => this.#end("start_deadline"));
    const pipes = new ExecutionPipes({
      job,
      host,
      control: child.stdin as Writable,
      events: child.stdout as Readable,
      logger,
      onHello: () => starting[Symbol.dispose](),
      onFailure: (reason) => this.#end(reason === "too_large" ? reason : undefined),
    });
    this.#pipes = pipes;
    const code = await exited;
    starting[Symbol.dispose]();
    this.#over.abort();
    await pipes.ended;
    await this.#killing;
    const state = await this.#engine.state(this.#name);
    // Whatever ended the command of the engine, the container does not outlive it.
    await this.#engine.remove(this.#name);
    if (pipes.result !== undefined) return { how: "result", result: pipes.result };
    if (this.#lost !== undefined) return { how: "lost", reason: this.#lost };
    const ended = state?.code ?? code;
    const isHeapFull = this.#isBounded && ended === SIGNAL_CODE + SIGABRT;
    if (state?.outOfMemory === true || isHeapFull) return { how: "lost", reason: "memory" };
    return ended === SIGNAL_CODE + SIGKILL
      ? { how: "signal", signal: "SIGKILL" }
      : { how: "exit", code: ended };
  }

  #end(reason: LossReason | undefined): void {
    this.#lost ??= reason;
    this.#kill();
  }

  #isStopped(): boolean {
    return this.#killing !== undefined;
  }

  #kill(): void {
    this.#killing ??= this.#killAll();
  }

  /** One that is being started cannot be killed yet. */
  async #killAll(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      await this.#engine.kill(this.#name);
      await sleep(this.#clock, KILL_AGAIN_MS, signal).catch(() => undefined);
    }
  }
}

async function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("exit", (code) => resolve(code ?? 1));
    child.once("error", () => resolve(1));
  });
}

/** Where the providers of a project are: what a step of another one writes there, no run of this one executes. */
function providersOf({ providersFolder, stack }: ExecutionJob): string {
  return join(providersFolder, "containers", stack.account, stack.project);
}

function argumentsOf(job: ExecutionJob, options: ContainerExecutorOptions): string[] {
  const { env = process.env, image, command, network, volumes = [] } = options;
  const { maxMemoryBytes, cpuPercent } = options;
  const { folder, providersFolder, store } = job;
  const inherited = Object.entries(env).filter(([, value]) => value !== undefined && value !== "");
  const paths = inherited.filter(([name]) => INHERITED_PATHS.test(name));
  // The engine would make a missing one, as a folder that belongs to root.
  const readable = paths
    .flatMap(([, list = ""]) => list.split(":"))
    .filter((path) => isAbsolute(path) && existsSync(path));
  const places = [
    `${folder}:${folder}`,
    `${providersOf(job)}:${providersFolder}`,
    ...readable.map((path) => `${path}:${path}:ro`),
    ...volumes,
  ];
  if (store !== undefined && "socketPath" in store.address) {
    const socket = dirname(store.address.socketPath);
    places.push(`${socket}:${socket}`);
  }
  const variables = [
    // Without the values, which the command takes from its environment: arguments are seen by all users of a machine.
    ...inherited.filter(([name]) => INHERITED.test(name)).map(([name]) => name),
    ...paths.map(([name]) => name),
    "LANG=C.UTF-8",
    `HOME=${folder}`,
    `TMPDIR=${folder}`,
    // Next to the providers: what the compiler made is code, too.
    `NODE_COMPILE_CACHE=${join(providersFolder, ".compile-cache")}`,
    ...(maxMemoryBytes === undefined ? [] : [`NODE_OPTIONS=${heapArgument(maxMemoryBytes)}`]),
  ];
  return [
    userArguments(command?.[0]),
    ["--workdir", folder, "--read-only", "--pids-limit", String(MAX_PIDS)],
    ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    network === undefined ? [] : ["--network", network],
    maxMemoryBytes === undefined ? [] : memoryArguments(String(maxMemoryBytes)),
    cpuPercent === undefined ? [] : ["--cpus", (cpuPercent / 100).toFixed(2)],
    places.flatMap((place) => ["--volume", place]),
    variables.flatMap((variable) => ["--env", variable]),
    ["--entrypoint", "stackwright", image, "execute"],
  ].flat();
}

/** Without any swap beside the memory. */
function memoryArguments(bytes: string): string[] {
  return ["--memory", bytes, "--memory-swap", bytes];
}

/** The user of the worker, whose files the folders have. */
function userArguments(program = "docker"): string[] {
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  if (user === undefined) return [];
  // Without root, podman has other numbers in its containers.
  const mapped = basename(program) === "podman" && user !== 0 ? ["--userns", "keep-id"] : [];
  return ["--user", `${user}:${group}`, ...mapped];
}
