import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanPlace } from "./span.ts";
import { traceIdOf, traceParentOf } from "./trace-context.ts";

/** Links of one span: of more, the first ones stay. */
const MAX_LINKS = 16;

/** Work that has a place in a trace. */
export class TracedWork {
  /** The span of the work, which continues in what it requests; undefined where nothing of it is traced. */
  readonly place: SpanPlace | undefined;
  /** The run that it is for. */
  readonly run: string | undefined;
  readonly #links = new Map<string, SpanPlace>();
  #hasCalls = false;
  #isOver = false;

  constructor(place: SpanPlace | undefined, run?: string) {
    this.place = place;
    this.run = run;
  }

  /** Spans of other traces that the work is about. */
  get links(): readonly SpanPlace[] {
    return [...this.#links.values()];
  }

  /** Whether calls that the work made are reported as spans of their own. */
  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  noteCall(): void {
    this.#hasCalls = true;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Notes that the work is about a span of another trace. */
  link(other: SpanPlace | undefined): void {
    if (other === undefined || other.traceId === this.place?.traceId) return;
    if (this.#links.size < MAX_LINKS) this.#links.set(`${other.traceId}-${other.spanId}`, other);
  }

  /** What was begun by the work and goes on, such as a watch that all requests share, is no part of it from now on. */
  over(): void {
    this.#isOver = true;
  }
}

/**
 * Knows for each piece of code which work it is part of, through all that it waits for: so records, logs and spans of one work
 * agree without every function handing its place on.
 */
export class TraceScope {
  readonly #works = new AsyncLocalStorage<TracedWork>();

  /** Runs a function, and whatever it begins, as part of a work. */
  run<T>(work: TracedWork, body: () => T): T {
    return this.#works.run(work, body);
  }

  /** The work that the caller is part of. */
  get work(): TracedWork | undefined {
    const work = this.#works.getStore();
    return work?.isOver === true ? undefined : work;
  }

  /** Where what the caller requests belongs; empty outside of all works. */
  get traceParent(): string {
    const place = this.work?.place;
    return place === undefined ? "" : traceParentOf(place);
  }

  /** What each line of the log has. */
  get logged(): { readonly run?: string; readonly traceId?: string } {
    const { work } = this;
    if (work === undefined) return {};
    const { run, place } = work;
    if (run === undefined) return place === undefined ? {} : { traceId: place.traceId };
    return { run, traceId: place?.traceId ?? traceIdOf(run, "") };
  }
}
