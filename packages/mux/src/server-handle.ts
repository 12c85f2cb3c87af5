import { inspect } from "node:util";
import type { Clock } from "@stackwright/base/clock";
import { type Deferred, deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import type { CallContext } from "./call-context.ts";
import { CancellableCall } from "./cancellable-call.ts";
import { callChannel } from "./diagnostics.ts";
import { MuxError } from "./errors.ts";
import type {
  ItemOf,
  ReplyOf,
  ResourceProvider,
  ResourceProviderRequest,
  StreamMethod,
  UnaryMethod,
} from "./resource-provider.ts";
import { ProviderCallLimiter, type ProviderCallLimits } from "./router/provider-call-limiter.ts";
import { isLoss, nameLoss } from "./server-loss.ts";

/** What a mux knows of the condition of a server. */
export type ServerHealth = "ready" | "degraded" | "draining";

/** Bounds of one server of a mux. */
export interface ServerLimits extends ProviderCallLimits {
  /** Deadline of a single call, in milliseconds. @default none but the caller's own */
  readonly callTimeoutMs?: number;
  /**
   * Deadlines of single methods, in milliseconds, in place of `callTimeoutMs`; `Infinity` for none. That of a
   * stream bounds all of it. @default {}
   */
  readonly methodTimeoutMs?: Readonly<Partial<Record<keyof ResourceProvider, number>>>;
  /** Time for an answer to Cancel; past it, calls under way are given up. @default 5_000 */
  readonly cancelTimeoutMs?: number;
  /** Time for calls under way when the server is taken out of the mux; past it they are given up. @default no limit */
  readonly drainTimeoutMs?: number;
}

interface ServerHandleOptions {
  readonly name: string;
  readonly package: string;
  readonly provider: ResourceProvider;
  readonly limits: ServerLimits;
  readonly clock: Clock;
}

interface CallUnderWay {
  readonly method: keyof ResourceProvider;
  readonly guard: CancellableCall;
  /** Whether it may begin. */
  readonly isAdmitted: boolean;
  /** Whether it has a place in the limiter, to be released. */
  hasPlace: boolean;
  startedAt: number;
  timer: Disposable | undefined;
  /** Status of a failure. */
  code: string | undefined;
}

/**
 * One server of a mux, behind a guard: what it throws becomes a status that names it, its limits and deadlines
 * are kept, and the loss of its connection shows in its health. Nothing that a server does can harm another.
 */
export class ServerHandle {
  readonly name: string;
  readonly provider: ResourceProvider;
  readonly #options: ServerHandleOptions;
  readonly #gate: ProviderCallLimiter;
  readonly #running = new Set<CallUnderWay>();
  #health: ServerHealth = "ready";
  #idle: Deferred<void> | undefined;

  constructor(options: ServerHandleOptions) {
    this.name = options.name;
    this.provider = options.provider;
    this.#options = options;
    this.#gate = new ProviderCallLimiter(options.limits, options.clock);
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
    request: ResourceProviderRequest<M>,
    context: CallContext,
  ): Promise<ReplyOf<M>> {
    const call = this.#begin(method, context);
    try {
      if (!call.isAdmitted) await this.#admit(call);
      const handler = this.provider[method] as unknown as (
        request: ResourceProviderRequest<M>,
        context: CallContext,
      ) => Promise<ReplyOf<M>>;
      const reply = await call.guard.untilGivenUp(
        handler.call(this.provider, request, call.guard.context),
      );
      this.#succeed();
      return reply;
    } catch (error) {
      throw this.#fail(call, error);
    } finally {
      this.#end(call);
    }
  }

  /** Relays a stream item by item: the server is asked for the next one when the reader wants it. */
  async *stream<M extends StreamMethod>(
    method: M,
    request: ResourceProviderRequest<M>,
    context: CallContext,
  ): AsyncGenerator<ItemOf<M>, void, undefined> {
    const call = this.#begin(method, context);
    let iterator: AsyncIterator<ItemOf<M>> | undefined;
    try {
      if (!call.isAdmitted) await this.#admit(call);
      const handler = this.provider[method] as unknown as (
        request: ResourceProviderRequest<M>,
        context: CallContext,
      ) => AsyncIterable<ItemOf<M>>;
      iterator = handler.call(this.provider, request, call.guard.context)[Symbol.asyncIterator]();
      for (;;) {
        const item = await call.guard.untilGivenUp(iterator.next());
        if (item.done === true) break;
        yield item.value;
      }
      iterator = undefined;
      this.#succeed();
    } catch (error) {
      throw this.#fail(call, error);
    } finally {
      // A reader that leaves cancels the server's stream; the server's reaction does not matter.
      iterator?.return?.().catch(() => undefined);
      this.#end(call);
    }
  }

  /**
   * Takes no more calls but Cancel; resolves when those under way have ended. Past `drainTimeoutMs` they are given up.
   */
  async drain(): Promise<void> {
    this.#health = "draining";
    if (this.#running.size === 0) return;
    this.#idle ??= deferred();
    const { drainTimeoutMs } = this.#options.limits;
    const timer =
      drainTimeoutMs === undefined
        ? undefined
        : this.#options.clock.after(drainTimeoutMs, () => {
            const message = `server ${this.name} was taken out of the mux and its calls did not end within ${drainTimeoutMs} ms`;
            this.abort(new MuxError("MUX_SERVER_TIMEOUT", message, { server: this.name }));
          });
    await this.#idle.promise;
    timer?.[Symbol.dispose]();
  }

  /** Forwards Cancel, past all limits. A server that does not answer in time has its calls under way given up. */
  async cancel(context: CallContext): Promise<ReplyOf<"cancel">> {
    const { cancelTimeoutMs = 5000 } = this.#options.limits;
    const timer = this.#options.clock.after(cancelTimeoutMs, () => {
      const message = `server ${this.name} did not answer Cancel within ${cancelTimeoutMs} ms`;
      this.abort(new MuxError("MUX_SERVER_TIMEOUT", message, { server: this.name }));
    });
    try {
      return await this.call("cancel", {}, context);
    } finally {
      timer[Symbol.dispose]();
    }
  }

  /** Gives every call under way up. */
  abort(reason: unknown): void {
    for (const { guard } of this.#running) guard.abort(reason);
  }

  /** Enters a call, with a place if one is free. Throws when it may not even wait. */
  #begin(method: keyof ResourceProvider, context: CallContext): CallUnderWay {
    context.signal?.throwIfAborted();
    const isCancel = method === "cancel";
    if (this.#health === "draining" && !isCancel) {
      const message = `server ${this.name} is being taken out of the mux`;
      throw new MuxError("MUX_SERVER_UNAVAILABLE", message, { server: this.name });
    }
    const { limits, clock } = this.#options;
    const guard = new CancellableCall(context);
    // Cancel is what frees the places: it does not wait for one.
    const hasPlace = !isCancel && this.#gate.tryEnter();
    const call: CallUnderWay = {
      method,
      guard,
      hasPlace,
      isAdmitted: hasPlace || isCancel,
      startedAt: callChannel.hasSubscribers ? clock.monotonicMs() : 0,
      timer: undefined,
      code: undefined,
    };
    const timeoutMs = limits.methodTimeoutMs?.[method] ?? limits.callTimeoutMs;
    if (timeoutMs !== undefined && timeoutMs !== Number.POSITIVE_INFINITY && !isCancel) {
      call.timer = clock.after(timeoutMs, () => {
        const message = `server ${this.name} did not answer ${wireName(method)} within ${timeoutMs} ms`;
        guard.abort(new MuxError("MUX_SERVER_TIMEOUT", message, { server: this.name }));
      });
    }
    this.#running.add(call);
    return call;
  }

  async #admit(call: CallUnderWay): Promise<void> {
    await this.#gate.enter(call.guard.context.signal);
    call.hasPlace = true;
    if (callChannel.hasSubscribers) call.startedAt = this.#options.clock.monotonicMs();
  }

  #succeed(): void {
    if (this.#health === "degraded") this.#health = "ready";
  }

  /** What the caller gets for what a server threw; also what that says of the server's health. */
  #fail(call: CallUnderWay, error: unknown): unknown {
    const failure = this.#judge(call, error);
    call.code = failure instanceof MuxError ? failure.status : statusOf(failure);
    if (this.#health === "ready" && isLoss(failure)) this.#health = "degraded";
    return failure;
  }

  #judge({ method, guard }: CallUnderWay, error: unknown): unknown {
    if (guard.isReason(error)) return error;
    if (error instanceof RpcError || error instanceof MuxError) return nameLoss(error, this.name);
    const text = error instanceof Error ? error.message : inspect(error, { depth: 1 });
    return new MuxError(
      "MUX_SERVER_CRASHED",
      `server ${this.name} failed in ${wireName(method)}: ${text}`,
      { server: this.name, cause: error },
    );
  }

  #end(call: CallUnderWay): void {
    call.timer?.[Symbol.dispose]();
    call.guard[Symbol.dispose]();
    if (call.hasPlace) this.#gate.leave();
    this.#running.delete(call);
    if (this.#running.size === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    if (callChannel.hasSubscribers) {
      callChannel.publish({
        package: this.#options.package,
        server: this.name,
        method: wireName(call.method),
        durationMs: this.#options.clock.monotonicMs() - call.startedAt,
        ...(call.code !== undefined && { code: call.code }),
      });
    }
  }
}

/** Name of a method in the protocol. */
function wireName(method: keyof ResourceProvider): string {
  return method.charAt(0).toUpperCase() + method.slice(1);
}

function statusOf(error: unknown): string {
  return error instanceof RpcError ? error.code : "CANCELLED";
}
