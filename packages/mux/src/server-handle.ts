import { RpcError } from "@stackwright/proto/grpc";
import type { CallContext } from "./call-context.ts";
import type { Clock } from "./clock.ts";
import { callChannel } from "./diagnostics.ts";
import { MuxError } from "./errors.ts";
import type {
  ItemOf,
  ReplyOf,
  RequestOf,
  ResourceProvider,
  StreamMethod,
  UnaryMethod,
} from "./resource-provider.ts";
import { CallGate, type CallLimits } from "./router/call-gate.ts";

/** What a mux knows of the condition of a server. */
export type ServerHealth = "ready" | "degraded" | "draining";

/** Bounds of one server of a mux. */
export interface ServerLimits extends CallLimits {
  /** Deadline of a single call, in milliseconds. @default none but the caller's own */
  readonly callTimeoutMs?: number;
  /** Time for an answer to Cancel; past it, calls under way are given up. @default 5_000 */
  readonly cancelTimeoutMs?: number;
}

export interface ServerHandleOptions {
  readonly name: string;
  readonly package: string;
  readonly provider: ResourceProvider;
  readonly limits: ServerLimits;
  readonly clock: Clock;
}

/**
 * One server of a mux, behind a guard: what it throws becomes a status that names it, its limits and deadlines
 * are kept, and the loss of its connection shows in its health. Nothing that a server does can harm another.
 */
export class ServerHandle {
  readonly name: string;
  readonly provider: ResourceProvider;
  readonly #options: ServerHandleOptions;
  readonly #gate: CallGate;
  readonly #running = new Set<AbortController>();
  #health: ServerHealth = "ready";
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: ServerHandleOptions) {
    this.name = options.name;
    this.provider = options.provider;
    this.#options = options;
    this.#gate = new CallGate(options.limits, options.clock);
  }

  get health(): ServerHealth {
    return this.#health;
  }

  /** Calls under way and calls that wait for a place. */
  get load(): { readonly running: number; readonly waiting: number } {
    return this.#gate.load;
  }

  async call<M extends UnaryMethod>(
    method: M,
    request: RequestOf<M>,
    context: CallContext,
  ): Promise<ReplyOf<M>> {
    return this.#guarded(method, context, (inner) => {
      const handler = this.provider[method] as unknown as (
        request: RequestOf<M>,
        context: CallContext,
      ) => Promise<ReplyOf<M>>;
      return handler.call(this.provider, request, inner);
    });
  }

  /** Relays a stream item by item: the server is asked for the next one when the reader wants it. */
  async *stream<M extends StreamMethod>(
    method: M,
    request: RequestOf<M>,
    context: CallContext,
  ): AsyncGenerator<ItemOf<M>, void, undefined> {
    // The whole stream is one guarded call: it begins when a place is free, and ends with `ended`.
    const begun = Promise.withResolvers<CallContext & { readonly signal: AbortSignal }>();
    const ended = Promise.withResolvers<void>();
    const whole = this.#guarded(method, context, async (inner) => {
      begun.resolve(inner);
      await ended.promise;
    });
    whole.catch(begun.reject);
    const inner = await begun.promise;
    const handler = this.provider[method] as unknown as (
      request: RequestOf<M>,
      context: CallContext,
    ) => AsyncIterable<ItemOf<M>>;
    const iterator = handler.call(this.provider, request, inner)[Symbol.asyncIterator]();
    let finished = false;
    try {
      for (;;) {
        const item = await untilAborted(iterator.next(), inner.signal);
        if (item.done === true) break;
        yield item.value;
      }
      finished = true;
    } catch (error) {
      finished = true;
      ended.reject(error);
    } finally {
      // A reader that leaves cancels the server's stream; how the server takes that concerns nobody.
      if (!finished) iterator.return?.().catch(() => undefined);
      ended.resolve();
      await whole;
    }
  }

  /** Takes no more calls; resolves when those under way have ended. */
  async drain(): Promise<void> {
    this.#health = "draining";
    if (this.#running.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  /** Forwards Cancel. A server that does not answer in time has its calls under way given up. */
  async cancel(context: CallContext): Promise<ReplyOf<"cancel">> {
    const { cancelTimeoutMs = 5000 } = this.#options.limits;
    const timer = this.#options.clock.schedule(() => {
      const message = `server ${this.name} did not answer Cancel within ${cancelTimeoutMs} ms`;
      this.abort(new MuxError("MUX_SERVER_TIMEOUT", message, { server: this.name }));
    }, cancelTimeoutMs);
    try {
      return await this.call("cancel", {}, context);
    } finally {
      timer[Symbol.dispose]();
    }
  }

  /** Gives every call under way up. */
  abort(reason: unknown): void {
    for (const controller of this.#running) controller.abort(reason);
  }

  async #guarded<T>(
    method: keyof ResourceProvider,
    context: CallContext,
    run: (context: CallContext & { readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const { signal } = context;
    signal?.throwIfAborted();
    if (this.#health === "draining") {
      const message = `server ${this.name} is being taken out of the mux`;
      throw new MuxError("MUX_SERVER_UNAVAILABLE", message, { server: this.name });
    }
    const { callTimeoutMs } = this.#options.limits;
    const controller = new AbortController();
    const signals = signal === undefined ? [controller.signal] : [signal, controller.signal];
    const timer =
      callTimeoutMs === undefined
        ? undefined
        : this.#options.clock.schedule(() => {
            const message = `server ${this.name} did not answer ${wireName(method)} within ${callTimeoutMs} ms`;
            controller.abort(new MuxError("MUX_SERVER_TIMEOUT", message, { server: this.name }));
          }, callTimeoutMs);
    this.#running.add(controller);
    // Members by name: a context may be an object with getters, which a spread would lose.
    const { metadata, deadline } = context;
    const inner = { metadata, deadline, signal: AbortSignal.any(signals) };
    let startedAt = this.#options.clock.now();
    let code: string | undefined;
    try {
      const result = await this.#gate.run(async () => {
        startedAt = this.#options.clock.now();
        return untilAborted(run(inner), inner.signal);
      }, inner.signal);
      if (this.#health === "degraded") this.#health = "ready";
      return result;
    } catch (error) {
      const failure = this.#judge(method, error, inner.signal);
      code = failure instanceof MuxError ? failure.status : statusOf(failure);
      throw failure;
    } finally {
      timer?.[Symbol.dispose]();
      this.#running.delete(controller);
      if (this.#running.size === 0) {
        this.#idle?.resolve();
        this.#idle = undefined;
      }
      if (callChannel.hasSubscribers) {
        callChannel.publish({
          package: this.#options.package,
          server: this.name,
          method: wireName(method),
          durationMs: this.#options.clock.now() - startedAt,
          ...(code !== undefined && { code }),
        });
      }
    }
  }

  /** What the caller gets for what a server threw; also what that says of the server's health. */
  #judge(method: keyof ResourceProvider, error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted && error === signal.reason) return error;
    if (error instanceof RpcError) {
      if (error.code === "UNAVAILABLE" && this.#health === "ready") this.#health = "degraded";
      return error;
    }
    if (error instanceof MuxError) return error;
    const text = error instanceof Error ? error.message : String(error);
    return new MuxError(
      "MUX_SERVER_CRASHED",
      `server ${this.name} failed in ${wireName(method)}: ${text}`,
      { server: this.name, cause: error },
    );
  }
}

/** Name of a method in the protocol. */
export function wireName(method: keyof ResourceProvider): string {
  return method.charAt(0).toUpperCase() + method.slice(1);
}

function statusOf(error: unknown): string {
  return error instanceof RpcError ? error.code : "CANCELLED";
}

/** The promise, or the signal's reason as soon as it is aborted: a server that hangs is not waited for. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
