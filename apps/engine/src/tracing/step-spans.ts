import type { RunLogEvent } from "../domain/run-log-event.ts";
import type { ExecutionJob } from "../executor/execution-job.ts";
import type { ExecutionEnd } from "../executor/executor.ts";
import {
  newSpanId,
  type Span,
  type SpanPlace,
  type SpanSink,
  type SpanValue,
  traceOfRun,
} from "../span/span.ts";
import { spanPlaceOf, traceParentOf } from "../span/trace-context.ts";

/** Calls of one step that get spans, and characters of an address in one. */
const MAX_SPANS = 20_000;
const MAX_ADDRESS = 256;

/** What a span began with. */
interface Begun {
  readonly name: string;
  readonly startMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
}

/** Makes spans of the events of one step of a run: of the step itself, and of each call of a provider in it. */
export class StepSpans {
  readonly #sink: SpanSink;
  readonly #job: ExecutionJob;
  readonly #startMs: number;
  readonly #spanId = newSpanId();
  readonly #traceId: string;
  /** What led to the step; undefined where it is the beginning of its trace. */
  readonly #parent: SpanPlace | undefined;
  readonly #begun = new Map<string, Begun>();
  #count = 0;
  #dropped = 0;
  #isOver = false;

  constructor(sink: SpanSink, job: ExecutionJob, startMs: number) {
    this.#sink = sink;
    this.#job = job;
    this.#startMs = startMs;
    this.#parent = spanPlaceOf(job.trace?.parent ?? "");
    this.#traceId = (this.#parent ?? traceOfRun(job.run)).traceId;
    const { waitingSinceMs } = job;
    if (waitingSinceMs === undefined) return;
    sink.add({
      ...this.#root(),
      spanId: newSpanId(),
      name: `wait ${job.step}`,
      kind: "internal",
      startMs: waitingSinceMs,
      endMs: startMs,
      isFailed: false,
      attributes: { ...this.#common(), ...this.#place() },
    });
  }

  /** The step as the parent of the spans of others, in the form of W3C Trace Context: what the variable `TRACEPARENT` has. */
  get traceParent(): string {
    const isSampled = this.#parent?.isSampled;
    return traceParentOf({ traceId: this.#traceId, spanId: this.#spanId, isSampled });
  }

  event({ type, ...event }: RunLogEvent, at: number): void {
    const { address, deposed, action, status, provider, provisioner, step } = event;
    const key = (...parts: readonly unknown[]): string => JSON.stringify(parts);
    const object = { "stackwright.address": textOf(address).slice(0, MAX_ADDRESS) };
    if (type === "read-start") this.#begin(key("read", address, deposed), "read", at, object);
    else if (type === "read-end") this.#end(key("read", address, deposed), at, "done");
    else if (type === "step-start") {
      const name = textOf(action);
      this.#begin(key("change", address, deposed, action), name, at, object);
    } else if (type === "step-end") this.#end(key("change", address, deposed, action), at, status);
    else if (type === "provider") {
      const attributes = { "stackwright.provider": textOf(provider) };
      if (status === "starting") this.#begin(key("p", provider), "start provider", at, attributes);
      else this.#end(key("p", provider), at, "done");
    } else if (type === "provision" || type === "ephemeral") {
      const name = type === "provision" ? `provision ${textOf(provisioner)}` : textOf(step);
      const place = key(type, address, deposed, provisioner, step);
      if (status === "start") this.#begin(place, name, at, object);
      else this.#end(place, at, status);
    }
  }

  /** The step is over: of what has not ended it is not known how it ended. */
  over(end: ExecutionEnd | undefined, at: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const place of this.#begun.keys()) this.#end(place, at, "unresolved");
    const { name, step, mode, tool } = this.#job;
    const phase = end?.how === "result" ? end.result.phase : (end?.how ?? "failed");
    const link = spanPlaceOf(this.#job.trace?.link ?? "");
    this.#sink.add({
      ...this.#root(),
      spanId: this.#spanId,
      ...(link !== undefined && { links: [link] }),
      name: `run ${step}`,
      kind: "internal",
      startMs: this.#startMs,
      endMs: at,
      isFailed: !ENDED_WELL.has(phase),
      attributes: {
        ...this.#common(),
        "stackwright.execution": name,
        ...this.#place(),
        "stackwright.mode": mode,
        "stackwright.phase": phase,
        ...(tool !== undefined && { "stackwright.tool": tool.name }),
        ...(this.#dropped > 0 && { "stackwright.spans_dropped": this.#dropped }),
      },
    });
  }

  /** The trace of the step, and its parent there. */
  #root(): Pick<Span, "traceId" | "parentSpanId" | "isSampled"> {
    const { spanId: parentSpanId, isSampled } = this.#parent ?? {};
    return {
      traceId: this.#traceId,
      ...(parentSpanId !== undefined && { parentSpanId }),
      ...(isSampled === false && { isSampled }),
    };
  }

  #begin(place: string, name: string, startMs: number, attributes: Begun["attributes"]): void {
    if (this.#count >= MAX_SPANS) this.#dropped += 1;
    else {
      this.#count += 1;
      this.#begun.set(place, { name, startMs, attributes });
    }
  }

  #end(place: string, endMs: number, status: unknown): void {
    const begun = this.#begun.get(place);
    if (begun === undefined) return;
    this.#begun.delete(place);
    const span: Span = {
      traceId: this.#traceId,
      spanId: newSpanId(),
      parentSpanId: this.#spanId,
      ...(this.#parent?.isSampled === false && { isSampled: false }),
      name: begun.name,
      kind: "client",
      startMs: begun.startMs,
      endMs,
      isFailed: status !== "done",
      attributes: {
        ...this.#common(),
        ...begun.attributes,
        "stackwright.status": textOf(status),
      },
    };
    this.#sink.add(span);
  }

  #place(): Readonly<Record<string, SpanValue>> {
    const { stack, workspace } = this.#job;
    return {
      "stackwright.account": stack.account,
      "stackwright.project": stack.project,
      "stackwright.stack": workspace,
      "stackwright.stack_id": stack.stack,
    };
  }

  #common(): Readonly<Record<string, SpanValue>> {
    return { "stackwright.run": this.#job.run, "stackwright.step": this.#job.step };
  }
}

/** How a step ends that does what was asked for. */
const ENDED_WELL: ReadonlySet<string> = new Set(["planned", "no_changes", "compared", "applied"]);

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
