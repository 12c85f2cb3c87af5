import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "@stackwright/base/clock";
import { ServerError } from "../domain/server-error.ts";
import { type PlanForm, renderPlanForm } from "./plan-form.ts";

interface PlanRendererOptions {
  readonly clock: Clock;
  /** Views up to so many characters are rendered at once, which takes a few milliseconds. @default 262,144 */
  readonly directLength?: number;
  /** How long a thread may take. @default 30,000 */
  readonly timeoutMs?: number;
}

/** Threads at the same time: rendering is for readers, and runs need the cores. */
const MAX_THREADS = 2;
/** Requests that wait for a thread. */
const MAX_WAITING = 16;
/** Characters that the server takes of a thread. */
const MAX_RENDERED = 64 * 1024 * 1024;
/** Megabytes of the heap of a thread. */
const HEAP_MIB = 1_024;

/**
 * Renders views of plans. A large one is rendered in a thread of its own, with a bound of its time and its memory, so that the server
 * answers others meanwhile.
 */
export class PlanRenderer {
  readonly #clock: Clock;
  readonly #directLength: number;
  readonly #timeoutMs: number;
  readonly #waiting: (() => void)[] = [];
  #threads = 0;

  constructor({ clock, directLength = 262_144, timeoutMs = 30_000 }: PlanRendererOptions) {
    this.#clock = clock;
    this.#directLength = directLength;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * `unprocessable` for a view that cannot be rendered within the bounds, `rate_limited` where too many requests wait. A reader that
   * has gone away takes no thread. A view of foreign origin is rendered in a thread whatever its length.
   */
  async render(view: string, form: PlanForm, gone: AbortSignal): Promise<string> {
    const isForeign = form.isForeign === true;
    if (view.length <= this.#directLength && !isForeign) return renderPlanForm(view, form);
    if (this.#threads >= MAX_THREADS) {
      if (this.#waiting.length >= MAX_WAITING) {
        throw new ServerError("rate_limited", "too many large plans are being rendered");
      }
      // The thread is passed on.
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    } else this.#threads += 1;
    try {
      gone.throwIfAborted();
      return await this.#inThread(view, form);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#threads -= 1;
      else next();
    }
  }

  async #inThread(view: string, form: PlanForm): Promise<string> {
    const entry = new URL(`./plan-renderer-thread${extname(import.meta.url)}`, import.meta.url);
    const thread = new Worker(entry, {
      workerData: { view, form, maxLength: MAX_RENDERED },
      name: "stackwright-plan-view",
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    const refused = (cause?: unknown): ServerError =>
      new ServerError(
        "unprocessable",
        "the plan is too large to be rendered here; read its view or its document instead",
        { cause },
      );
    const late = Promise.withResolvers<never>();
    using _timer = this.#clock.after(this.#timeoutMs, () => late.reject(refused()));
    try {
      return await Promise.race([
        late.promise,
        new Promise<string>((resolve, reject) => {
          thread.once("message", resolve);
          thread.once("error", (error) => reject(refused(error)));
          thread.once("exit", (code) => reject(refused(new Error(`exit code ${code}`))));
        }),
      ]);
    } finally {
      await thread.terminate();
    }
  }
}
