import { CallLimiter } from "../caller/call-limiter.ts";
import { type MethodFacts, methodByName } from "../envelope/methods.ts";
import type { EnvelopeRequest } from "../envelope/request.ts";
import { configureFailure, unchangedObject } from "../envelope/wire.ts";
import { FgBridgeError } from "../errors.ts";
import type { ResolvedFunctionOptions } from "./function-options.ts";
import type { RunningProvider } from "./provider-runner.ts";
import { type Pooled, SessionPool, type SessionPoolKey } from "./session-pool.ts";

/** One call of a provider. */
interface ProviderCall {
  readonly caller: string;
  readonly method: MethodFacts;
  readonly request: EnvelopeRequest;
  /** Ends the call; its reason is an error that says why. */
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
  /** Called at the last moment before the provider is asked for what the method does. */
  readonly onBegin: () => void;
}

/**
 * Runs provider methods, each in a process of its own, or in one of the pool. `config_data` goes first, to the same process.
 */
export class ProviderCalls implements AsyncDisposable {
  readonly #options: ResolvedFunctionOptions;
  readonly #limiter: CallLimiter;
  readonly #pool: SessionPool | undefined;
  readonly #busy = new Map<
    RunningProvider,
    { readonly caller: string; readonly sessionId: string }
  >();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: ResolvedFunctionOptions) {
    this.#options = options;
    const { maxProcesses, maxWaiting, pool, clock } = options;
    this.#limiter = new CallLimiter({
      perFunction: maxProcesses,
      perSession: maxProcesses,
      queued: maxWaiting,
    });
    this.#pool = pool === undefined ? undefined : new SessionPool(pool, clock);
  }

  /**
   * @throws FgBridgeError `FG_LIMIT_EXCEEDED`, what the runner throws, and the reason of the signal
   */
  call(call: ProviderCall): Promise<Uint8Array> {
    return this.#limiter.run("", call.signal, () => this.#run(call));
  }

  /** Asks running calls of the session to end early. Only with a pool: else a process gets one request alone. */
  async stop(caller: string, sessionId: string, signal: AbortSignal): Promise<void> {
    if (this.#pool === undefined) return;
    const mine = [...this.#busy].filter(
      ([, owner]) => owner.caller === caller && owner.sessionId === sessionId,
    );
    const calls = mine.map(([provider]) => provider.call("Stop", new Uint8Array(), { signal }));
    await Promise.allSettled(calls);
  }

  /** Ends what waits for further requests of the session. */
  release(caller: string, sessionId: string): void {
    this.#pool?.release({ caller, sessionId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#busy.keys()].map((provider) => provider.end({ kill: true })));
    await this.#pool?.close();
    await Promise.all(this.#ending);
  }

  async #run(call: ProviderCall): Promise<Uint8Array> {
    const { caller, request, method, signal, onProgress, onBegin } = call;
    const { sessionId, configData } = request;
    const key: SessionPoolKey = { caller, sessionId, configData };
    // Calls without a session have nothing in common.
    const pool = sessionId === "" ? undefined : this.#pool;
    const pooled = pool?.take(key);
    const kept: Pooled = pooled ?? {
      provider: await this.#start(call),
      configured: false,
      uses: 0,
    };
    const { provider } = kept;
    this.#busy.set(provider, { caller, sessionId });
    let kill = true;
    let keep = false;
    try {
      if (configData.length > 0 && !kept.configured) {
        onProgress("configuring the provider");
        const failure = await this.#configure(provider, method, configData, signal);
        kill = false;
        if (failure !== undefined) {
          // Nothing was done, which the response has to say in the words of the method.
          const rest = method.repeatable ? [] : [unchangedObject(request.requestData)];
          return Buffer.concat([failure, ...rest]);
        }
        kept.configured = true;
      }
      onProgress(`calling ${method.name}`);
      onBegin();
      const response = await provider.call(method.name, request.requestData, { signal });
      // Configure itself changes what a process is; it is kept for none but its like.
      kill = false;
      keep = method.name !== "Configure";
      return response;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      this.#busy.delete(provider);
      kept.uses++;
      if (keep && pool !== undefined) pool.put(key, kept);
      // A process that did not answer in time would not shut down in time either.
      else this.#end(provider, kill && signal.aborted);
    }
  }

  async #start({ signal, onProgress }: ProviderCall): Promise<RunningProvider> {
    onProgress("starting the provider");
    const { runner, logger } = this.#options;
    const onLog = (line: string) => logger.debug({ provider: runner.name, line }, "provider log");
    return runner.start({ signal, onLog });
  }

  /** A response of the method with the diagnostics, if the provider refuses its configuration. */
  async #configure(
    provider: RunningProvider,
    method: MethodFacts,
    configData: Uint8Array,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const configure = methodByName("Configure")?.name ?? "Configure";
    const response = await provider
      .call(configure, configData, { signal })
      .catch((error: unknown) => {
        signal.throwIfAborted();
        const foreign = FgBridgeError.from(error);
        throw new FgBridgeError(foreign.code, foreign.message, {
          cause: error,
          status: foreign.status,
          method: configure,
          outcome: "not-applied",
        });
      });
    return configureFailure(response, method.diagnosticsField ?? 1);
  }

  #end(provider: RunningProvider, kill: boolean): void {
    const ending = provider.end({ kill }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.logger.warn({ reason }, "provider process did not end cleanly");
    });
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }
}
