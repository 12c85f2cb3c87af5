import type { RunLogEvent } from "@stackwright/client";

/** One call of an apply, as its events tell it. */
export interface RunStep {
  readonly key: string;
  readonly address: string;
  readonly action: string;
  /** `running` until it has ended; then how it ended. */
  readonly status: string;
  readonly startMs: number;
  readonly endMs: number | undefined;
  /** When it waited for nothing more but a place; the same as `startMs` where it got one at once. */
  readonly readyMs: number;
  /** The key of the step after which it was ready; undefined for one that waited for none. */
  readonly after: string | undefined;
  /** Of a skipped step: what it waited for. */
  readonly cause: string | undefined;
}

/** A step that is planned and has not begun. */
export interface WaitingStep {
  readonly key: string;
  readonly address: string;
  readonly action: string;
}

/** What is wrong, as the engine or a provider says it. */
export interface RunProblem {
  readonly address: string | undefined;
  readonly summary: string;
  readonly detail: string;
  readonly file: string | undefined;
  readonly line: number | undefined;
  /** What is written there. */
  readonly code: readonly string[];
}

/** One line of the log of a run. */
export interface LogLine {
  readonly seq: number;
  readonly atMs: number;
  readonly level: "info" | "warning" | "error";
  readonly address: string | undefined;
  readonly text: string;
}

export interface RunProgress {
  readonly steps: readonly RunStep[];
  /** In the order of the plan. */
  readonly waiting: readonly WaitingStep[];
  /** Errors, the first ones. */
  readonly problems: readonly RunProblem[];
  readonly lines: readonly LogLine[];
  /** Lines that are no longer here. */
  readonly droppedLines: number;
  readonly done: number;
  readonly failed: number;
  readonly running: number;
  /** Number of changes that were planned; 0 while that is not known. */
  readonly planned: number;
  readonly phase: string | undefined;
  readonly isEnded: boolean;
  /** Number of the last event. */
  readonly seq: number;
}

/** Errors that are held beside their lines. */
const MAX_PROBLEMS = 200;
/** The steps of a change, by its action. */
const STEPS_OF: Readonly<Record<string, readonly string[]>> = {
  replace: ["delete", "create"],
  "no-op": [],
};
/** Lines that are held: what came before can be read from the command. */
const MAX_LINES = 20_000;

/** What the events of a run amount to so far. Each event is added once, in order. */
export class RunProgressReducer {
  readonly #steps = new Map<string, RunStep>();
  readonly #waiting = new Map<string, WaitingStep>();
  readonly #problems: RunProblem[] = [];
  #lines: LogLine[] = [];
  #dropped = 0;
  #done = 0;
  #failed = 0;
  #running = 0;
  #planned = 0;
  #phase: string | undefined;
  #isEnded = false;
  #seq = 0;

  add(event: RunLogEvent): void {
    this.#seq = Math.max(this.#seq, event.seq);
    const address = textOf(event["address"]);
    switch (event.type) {
      case "phase-change":
        this.#phase = textOf(event["to"]);
        break;
      case "end":
        this.#isEnded = true;
        this.#leave(event.at);
        this.#phase = textOf(event["phase"]) ?? this.#phase;
        break;
      case "planned":
        this.#plan(event, address ?? "");
        break;
      case "diagnostic":
        this.#report(event, address);
        break;
      case "step-start":
        this.#start(event, address ?? "");
        break;
      case "step-end":
        this.#end(event, address ?? "");
        break;
      default:
        break;
    }
    const line = lineOf(event, address);
    if (line === undefined) return;
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES * 1.1) {
      this.#dropped += this.#lines.length - MAX_LINES;
      this.#lines = this.#lines.slice(-MAX_LINES);
    }
  }

  progress(): RunProgress {
    return {
      steps: [...this.#steps.values()],
      waiting: [...this.#waiting.values()],
      problems: [...this.#problems],
      lines: [...this.#lines],
      droppedLines: this.#dropped,
      done: this.#done,
      failed: this.#failed,
      running: this.#running,
      planned: this.#planned,
      phase: this.#phase,
      isEnded: this.#isEnded,
      seq: this.#seq,
    };
  }

  #plan(event: RunLogEvent, address: string): void {
    const action = textOf(event["action"]) ?? "";
    const actions = STEPS_OF[action] ?? [action];
    if (actions.length > 0) this.#planned += 1;
    for (const one of actions) {
      const key = keyOf({ ...event, action: one }, address);
      if (!this.#steps.has(key)) this.#waiting.set(key, { key, address, action: one });
    }
  }

  #report(event: RunLogEvent, address: string | undefined): void {
    if (event["severity"] !== "error" || this.#problems.length >= MAX_PROBLEMS) return;
    const code = event["code_lines"];
    this.#problems.push({
      address,
      summary: textOf(event["summary"]) ?? "",
      detail: textOf(event["detail"]) ?? "",
      file: textOf(event["file"]),
      line: typeof event["line"] === "number" ? event["line"] : undefined,
      code: Array.isArray(code) ? code.filter((one) => typeof one === "string") : [],
    });
  }

  #start(event: RunLogEvent, address: string): void {
    const key = keyOf(event, address);
    if (this.#steps.get(key)?.status === "running") return;
    this.#running += 1;
    this.#waiting.delete(key);
    const queued = event["queuedMs"];
    this.#steps.set(key, {
      key,
      address,
      action: textOf(event["action"]) ?? "",
      status: "running",
      startMs: event.at,
      endMs: undefined,
      readyMs: event.at - (typeof queued === "number" ? queued : 0),
      after: keyOfStep(event["after"]),
      cause: undefined,
    });
  }

  /** Of what was in progress when the run ended, as it was ended at once, nothing more is heard. */
  #leave(atMs: number): void {
    for (const [key, step] of this.#steps) {
      if (step.status !== "running") continue;
      this.#steps.set(key, { ...step, status: "unresolved", endMs: atMs });
      this.#failed += 1;
    }
    this.#running = 0;
  }

  #end(event: RunLogEvent, address: string): void {
    const key = keyOf(event, address);
    const begun = this.#steps.get(key);
    if (begun?.status === "running") this.#running -= 1;
    const status = textOf(event["status"]) ?? "done";
    if (status === "done") this.#done += 1;
    else this.#failed += 1;
    this.#waiting.delete(key);
    this.#steps.set(key, {
      key,
      address,
      action: textOf(event["action"]) ?? begun?.action ?? "",
      status,
      startMs: begun?.startMs ?? event.at,
      endMs: event.at,
      readyMs: begun?.readyMs ?? event.at,
      after: begun?.after,
      cause: textOf(event["cause"]),
    });
  }
}

/** The key of a step that an event names. */
function keyOfStep(step: unknown): string | undefined {
  if (typeof step !== "object" || step === null) return undefined;
  const named = step as Readonly<Record<string, unknown>>;
  return keyOf(named, textOf(named["address"]) ?? "");
}

function keyOf(event: Readonly<Record<string, unknown>>, address: string): string {
  return `${address}\0${textOf(event["deposed"]) ?? ""}\0${textOf(event["action"]) ?? ""}`;
}

function lineOf(event: RunLogEvent, address: string | undefined): LogLine | undefined {
  const line = (text: string, level: LogLine["level"] = "info"): LogLine => ({
    seq: event.seq,
    atMs: event.at,
    level,
    address,
    text,
  });
  const of = (name: string): string => textOf(event[name]) ?? "";
  switch (event.type) {
    case "phase-change":
      return line(
        `${of("to").replaceAll("_", " ")}${of("reason") === "" ? "" : `: ${of("reason")}`}`,
        of("to") === "failed" ? "error" : "info",
      );
    case "phase":
      return line(of("phase"));
    case "provider":
      return line(`provider ${of("provider")}: ${of("status")}`);
    case "diagnostic": {
      const place = of("file") === "" ? "" : ` (${of("file")}:${numberText(event["line"])})`;
      const detail = of("detail") === "" ? "" : `: ${of("detail")}`;
      const level = event["severity"] === "error" ? "error" : "warning";
      return line(`${of("summary")}${detail}${place}`, level);
    }
    case "read-start":
      return line("read");
    case "step-start":
      return line(`${of("action")} begins`);
    case "step-end": {
      const isDone = event["status"] === "done";
      const cause = of("cause") === "" ? "" : `, because of ${of("cause")}`;
      return line(`${of("action")} ${of("status")}${cause}`, isDone ? "info" : "error");
    }
    case "provision-output":
      return line(of("line"));
    case "log":
      return line(
        of("text") || of("line") || of("message"),
        of("level") === "error" ? "error" : "info",
      );
    case "approval":
      return line(`approved by ${of("actor")}${of("comment") === "" ? "" : `: ${of("comment")}`}`);
    case "cancel":
      return line(`canceled by ${of("actor")}`, "warning");
    case "identity":
      return line(`identity tokens of ${of("subject")}`);
    case "freeze-override":
      return line(`freeze overridden by ${of("actor")}: ${of("reason")}`, "warning");
    case "gap":
      return line(
        "events that are stored no longer, or were never stored, are missing here",
        "warning",
      );
    case "truncated":
      return line("the log is full: further lines of programs are not stored", "warning");
    case "deadline":
      return line("the time of the step is over", "error");
    default:
      return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberText(value: unknown): string {
  return typeof value === "number" ? String(value) : "";
}
