import { randomUUID } from "node:crypto";
import type { AsyncResultReader } from "../target/async-results.ts";

/** States of an asynchronous invocation, as the platform names them. */
type InvocationState = "WAIT" | "RUNNING" | "SUCCESS" | "FAIL" | "DISCARD";

interface Invocation {
  readonly requestId: string;
  readonly urn: string;
  state: InvocationState;
  errorMessage: string;
  readonly startedMs: number;
  endedMs?: number;
  result?: Uint8Array;
  readonly cancel: AbortController;
}

/** Invocations whose state is kept; the oldest that have ended are forgotten. */
const MAX_KEPT = 10_000;

/**
 * Asynchronous invocations of all functions: their states, their results, and how they are ended. None is repeated: the
 * platform's retries are off for functions that apply.
 */
export class AsyncInvocations {
  readonly #invocations = new Map<string, Invocation>();
  readonly #running = new Set<Promise<void>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Begins one. `run` gives the object that the platform would write. */
  start(urn: string, run: (invocation: Invocation) => Promise<Uint8Array>): string {
    const invocation: Invocation = {
      requestId: randomUUID(),
      urn,
      state: "WAIT",
      errorMessage: "",
      startedMs: this.#now(),
      cancel: new AbortController(),
    };
    this.#invocations.set(invocation.requestId, invocation);
    this.#forget();
    const work = this.#run(invocation, run);
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
    return invocation.requestId;
  }

  get(urn: string, requestId: string): Invocation | undefined {
    const found = this.#invocations.get(requestId);
    return found?.urn === urn ? found : undefined;
  }

  list(urn: string): readonly Invocation[] {
    return [...this.#invocations.values()].filter((one) => one.urn === urn);
  }

  /** Where results are found, in the form in which a caller polls them. */
  readonly results: AsyncResultReader = {
    read: async (requestId) => this.#invocations.get(requestId)?.result,
  };

  async close(): Promise<void> {
    for (const { cancel } of this.#invocations.values())
      cancel.abort(new Error("the runtime ends"));
    await Promise.all(this.#running);
  }

  async #run(
    invocation: Invocation,
    run: (invocation: Invocation) => Promise<Uint8Array>,
  ): Promise<void> {
    // A state of its own, which a cancellation can meet.
    await new Promise((resolve) => setImmediate(resolve));
    if (invocation.cancel.signal.aborted) {
      invocation.state = "DISCARD";
      invocation.errorMessage = "canceled before it began";
    } else {
      invocation.state = "RUNNING";
      try {
        invocation.result = await run(invocation);
        invocation.state = "SUCCESS";
      } catch (error) {
        invocation.state = "FAIL";
        invocation.errorMessage = error instanceof Error ? error.message : String(error);
      }
    }
    invocation.endedMs = this.#now();
  }

  #forget(): void {
    for (const [requestId, { endedMs }] of this.#invocations) {
      if (this.#invocations.size <= MAX_KEPT) return;
      if (endedMs !== undefined) this.#invocations.delete(requestId);
    }
  }
}
