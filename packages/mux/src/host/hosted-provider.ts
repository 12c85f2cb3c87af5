import { type Deferred, deferred } from "@stackwright/base/deferred";
import type {
  ConfigureRequest,
  ParameterizeRequest,
  ProviderHandshakeRequest,
} from "@stackwright/proto/pulumirpc";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { delegateProvider } from "./delegate-provider.ts";
import {
  type LaunchOptions,
  type ResolvedLaunchOptions,
  resolveLaunchOptions,
} from "./launch-options.ts";
import { type LaunchedProvider, startProcess } from "./launch-provider.ts";
import { type LivenessPolicy, LivenessProbe } from "./liveness.ts";
import type { ProcessExit } from "./supervised-process.ts";

/** How often a provider that ended by itself is started again. */
export interface RestartPolicy {
  /** Starts within `windowMs`; one more loss and the provider stays down. @default 5 */
  readonly maxRestarts?: number;
  /** @default 60_000 */
  readonly windowMs?: number;
  /** Pause before the first of a row of restarts; each further one takes twice as long. @default 100 */
  readonly initialDelayMs?: number;
  /** @default 10_000 */
  readonly maxDelayMs?: number;
}

export interface HostOptions extends LaunchOptions {
  /** Kills a process that runs and does not answer, so that the restart policy takes over. @default never */
  readonly liveness?: LivenessPolicy;
  /** @default never */
  readonly restart?: RestartPolicy;
}

/** What a hosted provider is doing; `down` is for good. */
export type HostedState = "ready" | "restarting" | "down" | "closed";

/** A provider process that is started again when it ends by itself. */
export interface HostedProvider extends AsyncDisposable {
  /**
   * The same object across restarts. A call that comes during a restart waits for it; a call under way when the
   * process ends rejects with `MUX_PROCESS_CRASHED` and is not repeated; a provider that is down or closed rejects
   * with `MUX_PROCESS_ENDED`.
   */
  readonly provider: ResourceProvider;
  readonly state: HostedState;
  /** Restarts so far. */
  readonly restarts: number;
  /** The present process; absent while there is none. */
  readonly process: LaunchedProvider | undefined;
  close(): Promise<void>;
}

/** What was said to the provider as a whole, and is said again to a process that takes its place. */
interface Said {
  handshake?: ProviderHandshakeRequest;
  readonly parameterize: ParameterizeRequest[];
  configure?: ConfigureRequest;
}

/**
 * Launches a provider as {@link launchProvider} does, and keeps it running by the policy. A new process is brought to
 * where the old one was before it gets calls: Handshake, Parameterize and Configure are repeated as they last
 * succeeded. Rejects as a launch does when the first start fails; that one is not repeated.
 */
export async function hostProvider(options: HostOptions): Promise<HostedProvider> {
  const resolved = resolveLaunchOptions(options);
  const first = await startProcess(resolved);
  return new RestartingProvider(resolved, options, first);
}

class RestartingProvider implements HostedProvider {
  readonly provider: ResourceProvider;
  readonly #options: ResolvedLaunchOptions;
  readonly #policy: Required<RestartPolicy> | undefined;
  readonly #liveness: LivenessPolicy | undefined;
  readonly #said: Said = { parameterize: [] };
  readonly #closed = new AbortController();
  readonly #owner: Promise<void>;
  /** When the restarts of the present window began. */
  #begun: number[] = [];
  #process: LaunchedProvider | undefined;
  #next: Deferred<LaunchedProvider> | undefined;
  #state: HostedState = "ready";
  #restarts = 0;

  constructor(
    options: ResolvedLaunchOptions,
    { restart: policy, liveness }: HostOptions,
    first: LaunchedProvider,
  ) {
    this.#options = options;
    this.#liveness = liveness;
    this.#policy = policy && {
      maxRestarts: policy.maxRestarts ?? 5,
      windowMs: policy.windowMs ?? 60_000,
      initialDelayMs: policy.initialDelayMs ?? 100,
      maxDelayMs: policy.maxDelayMs ?? 10_000,
    };
    this.#process = first;
    this.provider = delegateProvider({
      target: async () => (await this.#current()).provider,
      explain: (error) => error,
      succeeded: (method, request) => this.#remember(method, request),
    });
    this.#owner = this.#keep(first);
  }

  get state(): HostedState {
    return this.#state;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get process(): LaunchedProvider | undefined {
    return this.#process;
  }

  async close(): Promise<void> {
    this.#state = "closed";
    this.#closed.abort(this.#ended());
    await this.#process?.close();
    await this.#owner;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Owns the process from here on: one after the other, until it is closed or the policy gives up. */
  async #keep(first: LaunchedProvider): Promise<void> {
    let current = first;
    for (;;) {
      const exit = await this.#endOf(current);
      this.#process = undefined;
      if (this.#closed.signal.aborted) return;
      this.#next = deferred();
      this.#next.promise.catch(() => undefined);
      this.#state = "restarting";
      const { logger, command } = this.#options;
      const next = await this.#restart();
      if (next === undefined || this.#closed.signal.aborted) {
        await next?.close();
        if (!this.#closed.signal.aborted) {
          this.#state = "down";
          logger.error({ provider: command, exit }, "provider process stays down");
        }
        this.#next.reject(this.#ended());
        this.#next = undefined;
        return;
      }
      current = next;
      this.#process = next;
      this.#state = "ready";
      this.#restarts += 1;
      logger.info({ provider: command, restarts: this.#restarts }, "provider process is back");
      this.#next.resolve(next);
      this.#next = undefined;
    }
  }

  async #endOf(current: LaunchedProvider): Promise<ProcessExit> {
    const { clock, logger, command } = this.#options;
    if (this.#liveness === undefined) return current.exited;
    using _probe = new LivenessProbe(current.provider, {
      clock,
      policy: this.#liveness,
      onDead: () => {
        logger.warn({ provider: command }, "provider process does not answer and is killed");
        // Its end is waited for below.
        void current.kill();
      },
    });
    return await current.exited;
  }

  /** Tries until a process stands where the old one stood, or the policy gives up, or we are closed. */
  async #restart(): Promise<LaunchedProvider | undefined> {
    const { clock, logger, command } = this.#options;
    const policy = this.#policy;
    if (policy === undefined) return undefined;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      this.#begun = this.#begun.filter((time) => clock.monotonicMs() - time < policy.windowMs);
      if (this.#begun.length >= policy.maxRestarts) return undefined;
      const delayMs = policy.initialDelayMs * 2 ** this.#begun.length;
      this.#begun.push(clock.monotonicMs());
      await this.#pause(Math.min(delayMs, policy.maxDelayMs));
      if (signal.aborted) return undefined;
      try {
        const next = await startProcess({ ...this.#options, signal });
        try {
          await this.#repeat(next, signal);
          return next;
        } catch (error) {
          await next.close();
          throw error;
        }
      } catch (error) {
        if (!signal.aborted) {
          logger.warn({ provider: command, error }, "provider process could not be started again");
        }
      }
    }
    return undefined;
  }

  async #repeat({ provider }: LaunchedProvider, signal: AbortSignal): Promise<void> {
    const { handshake, parameterize, configure } = this.#said;
    if (handshake !== undefined) await provider.handshake(handshake, { signal });
    for (const request of parameterize) await provider.parameterize(request, { signal });
    if (configure !== undefined) await provider.configure(configure, { signal });
  }

  async #pause(delayMs: number): Promise<void> {
    const { promise, resolve } = deferred<void>();
    const timer = this.#options.clock.after(delayMs, resolve);
    const { signal } = this.#closed;
    const wake = () => resolve();
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    signal.removeEventListener("abort", wake);
    timer[Symbol.dispose]();
  }

  async #current(): Promise<LaunchedProvider> {
    if (this.#next !== undefined) return this.#next.promise;
    const current = this.#process;
    if (current === undefined || this.#state === "closed") throw this.#ended();
    // The end of a process is known a moment before its place is taken.
    if (current.exit === undefined) return current;
    await current.exited;
    return this.#current();
  }

  #remember(method: keyof ResourceProvider, request: unknown): void {
    if (method === "handshake") this.#said.handshake = request as ProviderHandshakeRequest;
    if (method === "parameterize") this.#said.parameterize.push(request as ParameterizeRequest);
    if (method === "configure") this.#said.configure = request as ConfigureRequest;
  }

  #ended(): MuxError {
    const { command } = this.#options;
    return new MuxError("MUX_PROCESS_ENDED", `${command} is ${this.#state}`);
  }
}
