import { createHash } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { RunningProvider } from "./provider-runner.ts";

export interface PoolOptions {
  /** How long a process waits for the next request of its session, in milliseconds. @default 60_000 */
  readonly idleMs?: number;
  /** Processes that wait at a time; beyond it the one that has waited longest is ended. @default 8 */
  readonly maxIdle?: number;
  /** Requests that one process serves at most. @default 1000 */
  readonly maxUses?: number;
}

/** What a process is kept for. Another caller never gets it, also under the same session. */
export interface SessionPoolKey {
  readonly caller: string;
  readonly sessionId: string;
  readonly configData: Uint8Array;
}

/** A process with what the pool knows of it. */
export interface Pooled {
  readonly provider: RunningProvider;
  configured: boolean;
  uses: number;
}

interface Idle extends Pooled {
  readonly key: string;
  readonly session: string;
  readonly timer: Disposable;
}

/**
 * Configured processes that wait for the next request of their session. A process serves one request at a time, as the
 * contract asks; only its start and its configuration are saved. One that failed in any way is not kept.
 */
export class SessionPool implements AsyncDisposable {
  readonly #options: Required<PoolOptions>;
  readonly #clock: Clock;
  readonly #ending = new Set<Promise<void>>();
  #idle: Idle[] = [];
  #closed = false;

  constructor(options: PoolOptions = {}, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#options = {
      idleMs: options.idleMs ?? 60_000,
      maxIdle: options.maxIdle ?? 8,
      maxUses: options.maxUses ?? 1000,
    };
  }

  get size(): number {
    return this.#idle.length;
  }

  /** A process of this session that waits, taken out of the pool. */
  take(key: SessionPoolKey): Pooled | undefined {
    const name = keyOf(key);
    for (;;) {
      const index = this.#idle.findLastIndex((idle) => idle.key === name);
      const [found] = index === -1 ? [] : this.#idle.splice(index, 1);
      if (found === undefined) return undefined;
      found.timer[Symbol.dispose]();
      if (found.provider.isAlive) return found;
      this.#end(found);
    }
  }

  /** Keeps a process whose request went well. */
  put(key: SessionPoolKey, { provider, configured, uses }: Pooled): void {
    const { idleMs, maxIdle, maxUses } = this.#options;
    if (this.#closed || uses >= maxUses || !provider.isAlive) {
      this.#end({ provider });
      return;
    }
    const idle: Idle = {
      provider,
      configured,
      uses,
      key: keyOf(key),
      session: sessionOf(key),
      timer: this.#clock.after(idleMs, () => this.#drop(idle)),
    };
    this.#idle.push(idle);
    const [oldest] = this.#idle;
    if (this.#idle.length > maxIdle && oldest !== undefined) this.#drop(oldest);
  }

  /** Ends what waits for this session. */
  release(session: Pick<SessionPoolKey, "caller" | "sessionId">): void {
    const name = sessionOf(session);
    for (const idle of this.#idle.filter((one) => one.session === name)) this.#drop(idle);
  }

  async close(): Promise<void> {
    this.#closed = true;
    while (this.#idle[0] !== undefined) this.#drop(this.#idle[0]);
    await Promise.all(this.#ending);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #drop(idle: Idle): void {
    this.#idle = this.#idle.filter((other) => other !== idle);
    idle.timer[Symbol.dispose]();
    this.#end(idle);
  }

  #end({ provider }: { readonly provider: RunningProvider }): void {
    const ending = provider.end().catch(() => undefined);
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }
}

function sessionOf({ caller, sessionId }: Pick<SessionPoolKey, "caller" | "sessionId">): string {
  return JSON.stringify([caller, sessionId]);
}

function keyOf(key: SessionPoolKey): string {
  const configuration = createHash("sha256").update(key.configData).digest("hex");
  return JSON.stringify([key.caller, key.sessionId, configuration]);
}
