import { randomBytes } from "node:crypto";
import { type Duplex, PassThrough } from "node:stream";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { EngineError } from "@stackwright/core/errors";
import { TfstateError } from "@stackwright/tfstate";
import { ChildOutput } from "../child-output.ts";
import { connectStore } from "../connect-store.ts";
import type { ExecutionJob } from "../execution-job.ts";
import { ExecutionPipes } from "../execution-pipes.ts";
import type { Execution, ExecutionEnd, ExecutionHost, Executor, LossReason } from "../executor.ts";
import { INHERITED } from "../executor-process.ts";
import { secretsOf } from "../job-secrets.ts";
import { ClusterClient, type ClusterPlace } from "./cluster-client.ts";
import { ClusterJobs, ClusterRefusal, isLasting, type Refusal } from "./cluster-jobs.ts";
import type { PodTemplate } from "./cluster-objects.ts";
import { DOOR_KEY_BYTES, type DoorChannel, ExecutionDoor } from "./execution-door.ts";
import type { NamedExecution, PodSettings } from "./job-objects.ts";
import { type PodFate, podFate } from "./pod-fate.ts";
import { POD_DIRECTORY, podPlaces } from "./pod-places.ts";

/** Which pods executions are, as the operator says. */
interface KubernetesOptions extends ClusterPlace {
  /** An image in which `stackwright` is on the path, of the release of the worker. */
  readonly image: string;
  /** Where Jobs are made. */
  readonly namespace: string;
  readonly template?: PodTemplate | undefined;
  /** Where pods reach this worker: its name or address. */
  readonly address: string;
  /** The port of it; 0 takes any free one. */
  readonly port: number;
  /** How long a pod may take from its creation to its first word. @default 600,000 */
  readonly startDeadlineMs?: number | undefined;
}

interface KubernetesExecutorOptions extends KubernetesOptions {
  /** On all Jobs of one store: the orphans among them are removed. */
  readonly instance: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Of which pods get what reaches the network. */
  readonly env: NodeJS.ProcessEnv;
  /** Folder that the path of a configuration of kubectl starts from. */
  readonly directory: string;
  /** Where this listens for pods. @default all addresses of the machine */
  readonly host?: string;
  /** Where pods write. @default /var/lib/stackwright */
  readonly podDirectory?: string;
  readonly timing?: Partial<Timing>;
}

interface Timing {
  /** How long what does not pass by waiting is waited for: registries of images fail now and then, and rights are given anew. */
  readonly refusedMs: number;
  /** Between two looks at a pod that has not called. */
  readonly startingLookMs: number;
  /** The same for one that has: its connection says more. */
  readonly runningLookMs: number;
  /** How long the end of a pod is awaited whose connection has ended, and the other way round. */
  readonly endMs: number;
  /** What a pod has to end that is removed. */
  readonly graceSeconds: number;
  /** How long a removed pod may stay: by then one on a machine that is gone has ended by itself. */
  readonly removalMs: number;
  readonly againMs: number;
}

const TIMING: Timing = {
  refusedMs: 120_000,
  startingLookMs: 1_000,
  runningLookMs: 10_000,
  endMs: 15_000,
  graceSeconds: 5,
  removalMs: 60_000,
  againMs: 1_000,
};

const START_MS = 600_000;

/** What the executions of one executor share. */
interface Ground {
  readonly jobs: ClusterJobs;
  readonly door: ExecutionDoor;
  readonly settings: PodSettings;
  readonly instance: string;
  readonly address: string;
  readonly startDeadlineMs: number;
  readonly timing: Timing;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Executes each step in a pod of its own, which a Job of Kubernetes makes. The pod calls the worker, proves itself with the key that a Secret of the
 * Job gives it, and gets job, answers and store through that connection: the cluster sees no value of a run, and the pod needs
 * to reach nothing of the server.
 *
 * `ENGINE_CONFIG_INVALID` for a cluster that refuses such a Job. One that does not answer is no reason to refuse: it may be there later.
 */
export async function createKubernetesExecutor(
  options: KubernetesExecutorOptions,
): Promise<Executor> {
  const { env, clock, logger, namespace, instance, image, template } = options;
  const client = new ClusterClient(options);
  const jobs = new ClusterJobs(client, namespace);
  const settings: PodSettings = {
    image,
    template,
    directory: options.podDirectory ?? POD_DIRECTORY,
    environment: Object.fromEntries(
      Object.entries(env).flatMap(([name, value = ""]) =>
        INHERITED.test(name) && value !== "" ? [[name, value]] : [],
      ),
    ),
  };
  await requireWillingCluster(jobs, settings, logger);
  const { host = "::", port } = options;
  const door = await ExecutionDoor.open({ host, port, logger }).catch((error: unknown) => {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      `pods cannot be listened for on port ${port}: set --kubernetes-port`,
      { cause: error },
    );
  });
  const ground: Ground = {
    jobs,
    door,
    settings,
    instance,
    address: `${options.address.includes(":") ? `[${options.address}]` : options.address}:${door.port}`,
    startDeadlineMs: options.startDeadlineMs ?? START_MS,
    timing: { ...TIMING, ...options.timing },
    clock,
    logger,
  };
  const running = new Set<PodExecution>();
  return {
    kind: "kubernetes",
    isRemote: true,
    start: (job, executionHost) => {
      const execution = new PodExecution(job, executionHost, ground);
      running.add(execution);
      void execution.ended.then(() => running.delete(execution));
      return execution;
    },
    list: async () => jobs.list(instance),
    remove: async ({ id }) => removeAll(ground, id),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Array.from(running, async (one) => one[Symbol.asyncDispose]()));
      await door[Symbol.asyncDispose]();
    },
  };
}

/** Has the cluster check a Job that it does not make. */
async function requireWillingCluster(
  jobs: ClusterJobs,
  settings: PodSettings,
  logger: Logger,
): Promise<void> {
  const name = `sw-check-${randomBytes(6).toString("hex")}`;
  let problem: string;
  try {
    const answer = await jobs.check(
      { id: name, name, instance: "check", address: "check:1" },
      settings,
    );
    if (answer.problem === "") return;
    if (!isLasting(answer)) {
      logger.warn({ problem: answer.problem }, "the cluster does not check Jobs now");
      return;
    }
    ({ problem } = answer);
  } catch (error) {
    if (!(error instanceof TfstateError) || error.code !== "TFSTATE_BACKEND_INVALID") {
      logger.warn({ err: error }, "the cluster cannot be reached now");
      return;
    }
    problem = error.message.replace(/^backend "[^"]*": /, "");
  }
  throw new EngineError(
    "ENGINE_CONFIG_INVALID",
    `the executor kubernetes cannot make Jobs: ${problem}`,
  );
}

/** How much longer the pause between two requests becomes at most. */
const MOST_PAUSES = 16;

/** What a shell says for a process that a signal ended: 128 and its number. */
const [ABORTED, KILLED] = [134, 137];
const MAX_LOG_BYTES = 65_536;

class PodExecution implements Execution {
  readonly ended: Promise<ExecutionEnd>;
  readonly #ground: Ground;
  readonly #named: NamedExecution;
  readonly #killed = new AbortController();
  /** Resolves when the pod says nothing more. */
  readonly #silent = Promise.withResolvers<void>();
  readonly #called = Promise.withResolvers<void>();
  readonly #sockets = new Set<Duplex>();
  #pipes: ExecutionPipes | undefined;
  #fate: PodFate | undefined;
  #lost: { readonly reason: LossReason; readonly detail?: string } | undefined;
  /** What the cluster said last of a pod that does not run. */
  #why: string | undefined;
  /** Why the worker cannot see its pod: the cluster refuses that. */
  #unseen: string | undefined;

  constructor(job: ExecutionJob, host: ExecutionHost, ground: Ground) {
    this.#ground = ground;
    const { instance, address } = ground;
    const { name } = job;
    // Another execution of the same claim has its own.
    const id = `${name.toLowerCase()}-${randomBytes(5).toString("hex")}`;
    this.#named = { id, name, instance, address };
    this.ended = this.#execute(job, host).catch((error: unknown): ExecutionEnd => {
      ground.logger.error({ run: job.run, err: error }, "a pod could not be executed");
      return { how: "exit", code: 1 };
    });
  }

  stop(stage: 1 | 2): void {
    this.#pipes?.cancel(stage);
    // Before the pod has called nothing has begun.
    if (stage === 2 || this.#pipes === undefined) this.#killed.abort(new Error("stopped"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#killed.abort(new Error("disposed"));
    await this.ended;
  }

  async #execute(job: ExecutionJob, host: ExecutionHost): Promise<ExecutionEnd> {
    const { door, clock, logger, startDeadlineMs } = this.#ground;
    const { id } = this.#named;
    const key = randomBytes(DOOR_KEY_BYTES);
    using _expected = door.expect(id, {
      key,
      onConnection: (channel, socket) => this.#receive(channel, socket, job, host),
    });
    using _starting = clock.after(startDeadlineMs, () => {
      if (this.#pipes === undefined) this.#lose("start_deadline", this.#unseen ?? this.#why);
    });
    try {
      await this.#create(key);
      await this.#watch();
      if (this.#pipes?.result === undefined) await this.#keepLog(job);
    } catch (error) {
      if (!this.#killed.signal.aborted) throw error;
    } finally {
      for (const socket of this.#sockets) socket.destroy();
      // With its result the executor has ended by itself, so that its pod is not awaited.
      await removeAll(this.#ground, id, this.#pipes?.result !== undefined);
      logger.debug({ run: job.run, job: id }, "the Job of a step was removed");
    }
    await this.#pipes?.ended;
    return this.#endOf();
  }

  /**
   * Makes the Job with its Secret, and lets it begin. A cluster that is away, or full, is asked again until the start deadline; one that
   * refuses the worker itself, less and less often, for as long as anything else that does not pass by waiting.
   */
  async #create(key: Uint8Array): Promise<void> {
    const { jobs, settings } = this.#ground;
    const uid = await this.#insist(async (signal) => jobs.create(this.#named, settings, signal));
    if (uid === undefined) return;
    await this.#insist(async (signal) =>
      jobs.createSecret(this.#named, uid, key, settings, signal),
    );
    await this.#insist(async (signal) => jobs.begin(this.#named, signal));
  }

  async #insist<T>(
    send: (signal: AbortSignal) => Promise<{ readonly value?: T; readonly refused?: Refusal }>,
  ): Promise<T | undefined> {
    const { clock, timing, logger } = this.#ground;
    const { signal } = this.#killed;
    // Only the time from one refusal to the next counts: a cluster that is away in between refuses nothing.
    let refusedForMs = 0;
    let refusedAt: number | undefined;
    let isSaid = false;
    let pauseMs = timing.againMs;
    for (;;) {
      signal.throwIfAborted();
      try {
        const { value, refused } = await send(signal);
        if (refused === undefined) return value;
        const { problem, lasts, isOfCaller = false } = refused;
        this.#why = problem;
        if (isOfCaller) {
          const now = clock.monotonicMs();
          if (isSaid) pauseMs = Math.min(2 * pauseMs, MOST_PAUSES * timing.againMs);
          else logger.warn({ job: this.#named.id, problem }, "the cluster refuses the worker");
          isSaid = true;
          refusedForMs += now - (refusedAt ?? now);
          refusedAt = now;
          const leftMs = timing.refusedMs - refusedForMs;
          if (leftMs <= 0) this.#lose("refused", refusedBy(problem));
          pauseMs = Math.min(pauseMs, Math.max(0, leftMs));
        } else {
          [refusedForMs, refusedAt, isSaid] = [0, undefined, false];
          pauseMs = timing.againMs;
          if (lasts) this.#lose("refused", problem);
        }
      } catch (error) {
        refusedAt = undefined;
        if (!signal.aborted) {
          this.#why = "the cluster does not answer";
          logger.warn({ job: this.#named.id, err: error }, "the cluster does not answer");
        }
      }
      await sleep(clock, pauseMs, signal);
    }
  }

  #lose(reason: LossReason, detail?: string): void {
    this.#lost ??= { reason, ...(detail !== undefined && { detail }) };
    this.#killed.abort(new Error(reason));
  }

  /** A connection of the pod. */
  #receive(channel: DoorChannel, socket: Duplex, job: ExecutionJob, host: ExecutionHost): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    switch (channel) {
      case "control":
        this.#converse(socket, job, host);
        return;
      case "output": {
        const { logger } = this.#ground;
        const output = new ChildOutput(secretsOf(job), (text) => {
          logger.warn({ run: job.run, text }, "an executor wrote");
        });
        socket.on("data", (chunk: Buffer) => output.take(chunk));
        socket.once("close", () => output.end());
        return;
      }
      case "store":
        void this.#relay(socket, job);
        return;
      default:
        channel satisfies never;
    }
  }

  #converse(socket: Duplex, job: ExecutionJob, host: ExecutionHost): void {
    const { logger, settings } = this.#ground;
    if (this.#pipes !== undefined) {
      socket.destroy();
      return;
    }
    const { folder, providers, storeSocket } = podPlaces(settings.directory ?? POD_DIRECTORY);
    const { store } = job;
    // A connection that breaks is no error of the protocol.
    const events = new PassThrough();
    socket.once("close", () => events.end());
    socket.pipe(events);
    const pipes = new ExecutionPipes({
      job: {
        ...job,
        folder,
        providersFolder: providers,
        ...(store !== undefined && {
          store: { address: { socketPath: storeSocket }, token: store.token },
        }),
      },
      host,
      control: socket,
      events,
      logger,
      onHello: () => undefined,
      onFailure: (reason) => {
        if (reason === "too_large") this.#lose(reason);
        else this.#killed.abort(new Error("the protocol was broken"));
      },
    });
    this.#pipes = pipes;
    this.#called.resolve();
    void pipes.ended.then(() => this.#silent.resolve());
  }

  /** The store, as the worker reaches it. */
  async #relay(socket: Duplex, { store, run }: ExecutionJob): Promise<void> {
    try {
      if (store === undefined) throw new TypeError("the job names no store");
      const upstream = await connectStore(store);
      upstream.once("close", () => socket.destroy());
      upstream.on("error", () => upstream.destroy());
      socket.once("close", () => upstream.destroy());
      if (socket.destroyed) upstream.destroy();
      socket.pipe(upstream).pipe(socket);
    } catch (error) {
      this.#ground.logger.warn({ run, err: error }, "the storage service cannot be reached");
      socket.destroy();
    }
  }

  /** Resolves when the pod has ended, as it or the cluster says, or when it has to. */
  async #watch(): Promise<void> {
    const { clock, timing } = this.#ground;
    const { signal } = this.#killed;
    let hadPod = false;
    let refusedSince: number | undefined;
    for (;;) {
      const observed = await this.#look(hadPod);
      if (signal.aborted) return;
      hadPod ||= observed?.hadPod === true;
      const fate = observed?.fate;
      if (fate?.at === "ended" || fate?.at === "gone") {
        this.#fate = fate;
        // What it said last may still be under way.
        if (this.#pipes !== undefined) await this.#within(timing.endMs, this.#silent.promise);
        return;
      }
      if (fate?.at === "waiting") {
        this.#why = fate.why;
        refusedSince = fate.isRefused ? (refusedSince ?? clock.monotonicMs()) : undefined;
        const forMs = refusedSince === undefined ? 0 : clock.monotonicMs() - refusedSince;
        if (forMs >= timing.refusedMs) {
          this.#lose("refused", fate.why);
          return;
        }
      }
      const isConnected = this.#pipes !== undefined;
      const isSilent = await this.#within(
        isConnected ? timing.runningLookMs : timing.startingLookMs,
        isConnected ? this.#silent.promise : this.#called.promise,
      );
      if (signal.aborted) return;
      if (isConnected && isSilent) return this.#awaitFate(hadPod);
    }
  }

  /** The connection has ended: without a result, how the pod ended says more. */
  async #awaitFate(hadPod: boolean): Promise<void> {
    const { clock, timing } = this.#ground;
    const { signal } = this.#killed;
    const until = clock.monotonicMs() + timing.endMs;
    while (this.#pipes?.result === undefined && !signal.aborted && clock.monotonicMs() < until) {
      const fate = (await this.#look(hadPod))?.fate;
      if (fate?.at === "ended" || fate?.at === "gone") {
        this.#fate = fate;
        return;
      }
      await sleep(clock, timing.startingLookMs, signal).catch(() => undefined);
    }
  }

  async #look(hadPod: boolean): Promise<{ fate: PodFate; hadPod: boolean } | undefined> {
    const { jobs, logger } = this.#ground;
    try {
      const observed = await jobs.observe(this.#named.id, this.#killed.signal);
      const had = hadPod || observed.pods.length > 0;
      this.#unseen = undefined;
      return { fate: podFate({ ...observed, hadPod }), hadPod: had };
    } catch (error) {
      if (this.#killed.signal.aborted) return undefined;
      // The connection of the pod says whether it runs, so that a refusal ends no step: it says why one had to be ended unseen.
      if (error instanceof ClusterRefusal && error.isOfCaller) {
        const { problem } = error;
        if (this.#unseen === undefined) {
          logger.warn({ job: this.#named.id, problem }, "the worker is not allowed to see its pod");
        }
        this.#unseen = refusedBy(problem);
      } else logger.debug({ job: this.#named.id, err: error }, "a pod could not be observed");
      return undefined;
    }
  }

  /** Whether it resolves within a time, unless the execution is killed before. */
  async #within(ms: number, what: Promise<void>): Promise<boolean> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#killed.signal, over.signal]);
    const time = sleep(this.#ground.clock, ms, signal).then(
      () => false,
      () => false,
    );
    try {
      return await Promise.race([what.then(() => true), time]);
    } finally {
      over.abort(new Error("over"));
    }
  }

  /** What the pod itself wrote, for the log of the operator: executors write to their connection. */
  async #keepLog(job: ExecutionJob): Promise<void> {
    const { jobs, logger } = this.#ground;
    const signal = AbortSignal.timeout(10_000);
    const text = await jobs.log(this.#named.id, MAX_LOG_BYTES, signal).catch(() => "");
    const output = new ChildOutput(secretsOf(job), (line) => {
      logger.warn({ run: job.run, text: line }, "a pod wrote");
    });
    output.take(Buffer.from(text));
    output.end();
  }

  #endOf(): ExecutionEnd {
    const result = this.#pipes?.result;
    if (result !== undefined) return { how: "result", result };
    if (this.#lost !== undefined) return { how: "lost", ...this.#lost };
    const fate = this.#fate;
    if (fate?.at === "ended") {
      // V8 aborts where its heap is full.
      if (fate.outOfMemory || fate.code === ABORTED) return { how: "lost", reason: "memory" };
      if (fate.code === KILLED) return { how: "signal", signal: "SIGKILL" };
      return { how: "exit", code: fate.code };
    }
    if (this.#killed.signal.aborted) return { how: "signal", signal: "SIGKILL" };
    const unseen = this.#unseen === undefined ? "" : `; ${this.#unseen}`;
    const detail = fate?.at === "gone" ? fate.why : `its connection to the worker broke${unseen}`;
    return { how: "lost", reason: "removed", detail };
  }
}

function refusedBy(problem: string): string {
  return `the cluster refuses the worker: ${problem}`;
}

/** Removes a Job and its pods, and waits until these are gone unless they have ended. Never rejects: the sweep repeats what fails. */
async function removeAll(
  { jobs, clock, timing, logger }: Ground,
  id: string,
  hasEnded = false,
): Promise<void> {
  const until = clock.monotonicMs() + timing.removalMs;
  let isAsked = false;
  let problem: unknown = "its pods are still there";
  while (clock.monotonicMs() < until) {
    try {
      if (!isAsked) await jobs.remove(id, timing.graceSeconds);
      isAsked = true;
      if (hasEnded || !(await jobs.hasPods(id))) return;
      problem = "its pods are still there";
    } catch (error) {
      problem = error;
    }
    await sleep(clock, timing.againMs / 2);
  }
  logger.warn({ job: id, err: problem }, "a Job is not gone; its step can write nothing more");
}
