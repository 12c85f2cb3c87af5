import { printable } from "../terminal/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { cutText, textWidth } from "../terminal/text-width.ts";
import { wrapWords } from "../terminal/wrap-words.ts";
import { StatusArea } from "./status-area.ts";

/** What is done to an object while a plan is made or applied. */
type LiveAction = "create" | "update" | "delete" | "read" | "refresh" | "import" | "forget";

/** One event of a run, as it is shown. */
type LiveEvent =
  | {
      readonly kind: "begin";
      readonly subject: string;
      readonly action: LiveAction;
      readonly id?: string;
    }
  | {
      readonly kind: "done";
      readonly subject: string;
      readonly action: LiveAction;
      readonly id?: string;
    }
  | { readonly kind: "failed"; readonly subject: string; readonly action: LiveAction }
  | { readonly kind: "skipped"; readonly subject: string; readonly cause: string }
  | { readonly kind: "unresolved"; readonly subject: string; readonly problem: string }
  /** A line that stays, of something that runs for the object. */
  | { readonly kind: "output"; readonly subject: string; readonly text: string };

/** Time as the display needs it. */
interface DisplayClock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Calls again and again until the returned function is called. */
  every(intervalMs: number, tick: () => void): () => void;
}

/** The clock of the process. Its timer does not keep the process alive. */
const systemDisplayClock: DisplayClock = {
  now: () => performance.now(),
  every: (intervalMs, tick) => {
    const timer = setInterval(tick, intervalMs).unref();
    return () => {
      clearInterval(timer);
    };
  },
};

/** What an action is called while it is in progress, and once it is done. */
export const ACTION_WORDS: Readonly<
  Record<LiveAction, { readonly doing: string; readonly done: string }>
> = {
  create: { doing: "Creating", done: "Creation complete" },
  update: { doing: "Modifying", done: "Modifications complete" },
  delete: { doing: "Destroying", done: "Destruction complete" },
  read: { doing: "Reading", done: "Read complete" },
  refresh: { doing: "Refreshing", done: "Refreshed" },
  import: { doing: "Importing", done: "Import complete" },
  forget: { doing: "Forgetting", done: "Forgotten" },
};

/** Interval between two redraws of the status area, in milliseconds. */
const FRAME_MS = 100;
/** After this long, and again after each further span, plain output says that something is still going on. */
const STILL_MS = 10_000;
/** Most objects that are named in the status area. */
const NAMED = 4;
/** The bar has at most and at least so many columns; where there are fewer there is none. */
const BAR = 24;
const SHORT_BAR = 5;
/** Shorter names of objects are not cut. */
const SHORT_NAME = 12;

/**
 * Shows a run while it is in progress. On a terminal finished objects are lines that stay, and below them are a bar and
 * the running steps; elsewhere there are plain lines, and one every ten seconds for a long step.
 */
export class LiveRun implements Disposable {
  readonly #terminal: Terminal;
  readonly #clock: DisplayClock;
  readonly #total: number;
  readonly #quiet: ReadonlySet<LiveAction>;
  readonly #area: StatusArea | undefined;
  readonly #started: number;
  readonly #running = new Map<
    string,
    { readonly action: LiveAction; readonly since: number; said: number }
  >();
  readonly #stopTimer: () => void;
  /** Lines that wait for the next frame. */
  #pending = "";
  #finished = 0;
  #note = "";

  constructor(options: {
    readonly terminal: Terminal;
    /** Objects that will be finished, for the bar; 0 where unknown. */
    readonly total: number;
    readonly clock?: DisplayClock;
    /** Actions whose end is not worth a line, as reads of a refresh. */
    readonly quiet?: readonly LiveAction[];
  }) {
    this.#terminal = options.terminal;
    this.#clock = options.clock ?? systemDisplayClock;
    this.#total = options.total;
    this.#quiet = new Set(options.quiet ?? []);
    this.#area =
      options.terminal.interactive && options.terminal.redraws
        ? new StatusArea(options.terminal)
        : undefined;
    this.#started = this.#clock.now();
    this.#stopTimer = this.#clock.every(this.#area === undefined ? 1_000 : FRAME_MS, () => {
      this.#tick();
    });
  }

  show(event: LiveEvent): void {
    const { style } = this.#terminal;
    const subject = style.paint("strong", event.subject);
    switch (event.kind) {
      case "begin": {
        this.#running.set(event.subject, {
          action: event.action,
          since: this.#clock.now(),
          said: 0,
        });
        if (this.#area === undefined) {
          this.#line(`${subject}: ${ACTION_WORDS[event.action].doing}...${idText(event.id)}`);
        }
        break;
      }
      case "done": {
        const elapsed = this.#end(event.subject);
        if (this.#quiet.has(event.action)) break;
        this.#line(
          `${subject}: ${ACTION_WORDS[event.action].done} after ${duration(elapsed)}${idText(event.id)}`,
        );
        break;
      }
      case "failed": {
        const elapsed = this.#end(event.subject);
        this.#line(
          `${subject}: ${style.paint("error", `${ACTION_WORDS[event.action].doing} failed`)} after ${duration(elapsed)}`,
        );
        break;
      }
      case "skipped":
        this.#finished++;
        this.#line(`${subject}: ${style.paint("warning", "Skipped")}, ${event.cause}`);
        break;
      case "output":
        this.#line(`${subject}${event.text}`);
        break;
      case "unresolved":
      default:
        this.#end(event.subject);
        this.#line(`${subject}: ${style.paint("error", "Unresolved")}, ${event.problem}`);
    }
  }

  /** A line that stays in the status area, as after Ctrl-C; elsewhere it is written once. */
  note(text: string): void {
    this.#note = text;
    if (this.#area === undefined) this.#line(text);
    else this.#tick();
  }

  /** Writes what is left and takes the status area away. */
  [Symbol.dispose](): void {
    this.#stopTimer();
    this.#area?.[Symbol.dispose]();
    if (this.#pending !== "") this.#terminal.write(this.#pending);
    this.#pending = "";
  }

  #end(subject: string): number {
    this.#finished++;
    const since = this.#running.get(subject)?.since ?? this.#clock.now();
    this.#running.delete(subject);
    return this.#clock.now() - since;
  }

  #line(text: string): void {
    if (this.#area === undefined) this.#terminal.write(`${text}\n`);
    else this.#pending += `${wrapWords(text, this.#terminal.columns)}\n`;
  }

  #tick(): void {
    const now = this.#clock.now();
    if (this.#area === undefined) {
      for (const [subject, entry] of this.#running) {
        const spans = Math.floor((now - entry.since) / STILL_MS);
        if (spans <= entry.said) continue;
        entry.said = spans;
        const doing = ACTION_WORDS[entry.action].doing.toLowerCase();
        const name = this.#terminal.style.paint("strong", subject);
        this.#line(`${name}: Still ${doing}... [${duration(now - entry.since)} elapsed]`);
      }
      return;
    }
    const above = this.#pending;
    this.#pending = "";
    this.#area.draw(this.#statusLines(now), above);
  }

  #statusLines(now: number): string[] {
    const { style, columns } = this.#terminal;
    // The last column stays free.
    const room = columns - 1;
    const oldest = [...this.#running].slice(0, NAMED);
    const rest = this.#running.size - oldest.length;
    const elapsed = duration(now - this.#started);
    const count = `${this.#finished}${this.#total === 0 ? " refreshed" : `/${this.#total}`}  ${elapsed}`;
    const tail = rest > 0 ? `${count}  (${rest} more in progress)` : count;
    const note = this.#note === "" ? [] : wrapWords(this.#note, room).split("\n");
    return [
      ...note.map((line) => style.paint("warning", line)),
      ...oldest.map(([subject, { action, since }]) => {
        const doing = `: ${ACTION_WORDS[action].doing.toLowerCase()} ${duration(now - since)}`;
        const left = Math.max(SHORT_NAME, room - 2 - textWidth(doing));
        return `  ${cutText(subject, left, { position: "middle" })}${doing}`;
      }),
      `${this.#bar(Math.min(BAR, room - 1 - tail.length))}${tail}`,
    ];
  }

  /** The bar with a blank behind it. */
  #bar(size: number): string {
    if (size < SHORT_BAR || this.#total === 0) return "";
    const { style } = this.#terminal;
    const share = Math.min(1, this.#finished / this.#total);
    const full = Math.round(share * size);
    const [done, open] = ["█".repeat(full), "░".repeat(size - full)];
    return `${style.paint("success", done)}${style.paint("quiet", open)} `;
  }
}

function idText(id: string | undefined): string {
  return id === undefined || id === "" ? "" : ` [id=${printable(id)}]`;
}

/** A duration as text: `0s`, `59s`, `2m05s`, `1h02m`. */
export function duration(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m`;
}
