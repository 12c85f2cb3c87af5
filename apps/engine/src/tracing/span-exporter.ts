import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { Span, SpanSink } from "../span/span.ts";
import { otlpBody } from "./otlp-body.ts";
import type { TraceTarget } from "./trace-target.ts";

/** Spans that wait to be sent: of more, the newest are dropped. */
const MAX_WAITING = 10_000;
/** Spans of one request, and how long fewer of them wait. */
const BATCH = 500;
const FLUSH_MS = 2_000;
const TIMEOUT_MS = 10_000;
/** Attempts for one batch, and the pause between them. */
const ATTEMPTS = 3;
const PAUSE_MS = 1_000;
/** A collector that is away is reported so often at most. */
const REPORT_MS = 60_000;
/** Answers after which the same request may succeed. */
const RETRIED: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

interface SpanExporterParts {
  readonly target: TraceTarget;
  /** What the spans are of, such as the name of the service. */
  readonly resource: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Sends spans to a collector by OTLP over HTTP, some at a time. What cannot be sent is dropped: no run and no request waits for a
 * collector. Disposing sends what waits, once.
 */
export class SpanExporter implements SpanSink, AsyncDisposable {
  readonly #parts: SpanExporterParts;
  readonly #ending = new AbortController();
  #waiting: Span[] = [];
  #timer: Disposable | undefined;
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SpanExporterParts) {
    this.#parts = parts;
  }

  add(span: Span): void {
    if (span.isSampled === false) return;
    if (this.#ending.signal.aborted || this.#waiting.length >= MAX_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH) this.#flush();
    else this.#timer ??= this.#parts.clock.after(FLUSH_MS, () => this.#flush());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    this.#timer?.[Symbol.dispose]();
    await this.#sending;
    await this.#sendAll();
  }

  #flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length > 0 && !this.#ending.signal.aborted) {
        this.#timer ??= this.#parts.clock.after(FLUSH_MS, () => this.#flush());
      }
    });
  }

  /** Sends what waits now. Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      const problem = await this.#send(batch);
      if (problem === "") continue;
      this.#dropped += batch.length;
      this.#report(problem);
      return;
    }
  }

  /** Empty where the collector has the spans. */
  async #send(spans: readonly Span[]): Promise<string> {
    const { target, resource, clock } = this.#parts;
    const body = JSON.stringify(otlpBody(spans, resource));
    let problem = "";
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      try {
        const answer = await fetch(target.url, {
          method: "POST",
          headers: { ...target.headers, "content-type": "application/json" },
          body,
          redirect: "error",
          signal: AbortSignal.timeout(TIMEOUT_MS),
        });
        await answer.body?.cancel();
        if (answer.ok) return "";
        problem = `it answered ${answer.status}`;
        if (!RETRIED.has(answer.status)) return problem;
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      // Who ends does not wait for a collector that is away.
      if (attempt === ATTEMPTS || this.#ending.signal.aborted) break;
      await sleep(clock, PAUSE_MS, this.#ending.signal).catch(() => undefined);
    }
    return problem;
  }

  #report(problem: string): void {
    const { clock, logger, target } = this.#parts;
    if (clock.monotonicMs() - this.#reportedAtMs < REPORT_MS) return;
    this.#reportedAtMs = clock.monotonicMs();
    const { origin } = new URL(target.url);
    logger.warn({ collector: origin, dropped: this.#dropped, problem }, "spans were dropped");
  }
}
