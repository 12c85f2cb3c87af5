import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import { promptedEntries } from "./prompted-entries.ts";
import { createStyle, type Style } from "./style.ts";
import { wrapWords } from "./wrap-words.ts";

/**
 * Where the command writes and what it may expect of the reader. The only place that knows streams.
 */
export interface Terminal {
  /** Writes results. */
  write(text: string): void;
  /** Writes what is wrong, and progress where results are for machines. */
  writeError(text: string): void;
  readonly style: Style;
  /** Columns in which text is laid out. */
  readonly width: number;
  /** Columns that the terminal has at this moment; `Infinity` where the output is none. */
  readonly columns: number;
  /** Lines that the terminal has at this moment; `Infinity` where the output is none. */
  readonly rows: number;
  /** Whether a user can interact: questions may be asked. */
  readonly interactive: boolean;
  /** Whether lines may be redrawn; some terminals only print (`TERM=dumb`). */
  readonly redraws: boolean;
  /** Whether standard input is a terminal: reading all of it waits for a user who sees no question. */
  readonly typed: boolean;
  /** Whether the environment allows questions; a script may answer them from a pipe. */
  readonly mayAsk: boolean;
  /**
   * Asks for one line; undefined where the input has ended. Rejects with the reason of `signal` when that is
   * aborted, as by Ctrl-C. What is typed as an answer to a `hidden` question is not shown.
   */
  ask(
    question: string,
    options?: { readonly signal?: AbortSignal; readonly hidden?: boolean },
  ): Promise<string | undefined>;
  /** The lines of standard input. */
  lines(): AsyncIterable<string>;
  /**
   * The entries that a user types after a prompt, with line editing and the history of this call. An entry for which `continues` is
   * true gets another line. Ends with Ctrl-D, and with Ctrl-C in an empty line; elsewhere Ctrl-C discards the entry.
   */
  promptedEntries(prompt: string, continues?: (entry: string) => boolean): AsyncIterable<string>;
  /** The whole of standard input. */
  readAll(): Promise<string>;
}

/** The streams of a process, and what decides about colors. */
export interface TerminalStreams {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly error: Writable;
  readonly env: NodeJS.ProcessEnv;
  /** Called for Ctrl-C while a question is asked: the terminal sends no signal then. */
  readonly interrupt?: () => void;
  /** Asked for by `-no-color`. */
  readonly noColor?: boolean;
}

/** Narrowest layout; below, lines wrap as the terminal likes. */
const MIN_WIDTH = 20;
/** Wider lines are hard to read. */
const MAX_WIDTH = 120;
const DEFAULT_WIDTH = 78;
const DEFAULT_HEIGHT = 24;

/** A terminal over streams. Color: by `NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`, else whether it is a terminal. */
export function createTerminal(streams: TerminalStreams): Terminal {
  const { input, output, error, env } = streams;
  const isTerminal = output.isTTY === true;
  return {
    write: (text) => {
      output.write(text);
    },
    writeError: (text) => {
      error.write(text);
    },
    style: createStyle(wantsColor(streams, isTerminal)),
    get width() {
      const columns = isTerminal ? known(output.columns, DEFAULT_WIDTH) : DEFAULT_WIDTH;
      return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, columns));
    },
    get columns() {
      return isTerminal ? known(output.columns, DEFAULT_WIDTH) : Number.POSITIVE_INFINITY;
    },
    get rows() {
      return isTerminal ? known(output.rows, DEFAULT_HEIGHT) : Number.POSITIVE_INFINITY;
    },
    interactive: isTerminal && input.isTTY === true && mayAsk(env),
    redraws: isTerminal && env.TERM !== "dumb",
    typed: input.isTTY === true,
    mayAsk: mayAsk(env),
    ask: async (question, options) => askLine(streams, question, options ?? {}),
    lines: () => createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }),
    promptedEntries: (prompt, continues) => promptedEntries(streams, prompt, continues),
    readAll: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array));
      return Buffer.concat(chunks).toString("utf8");
    },
  };
}

/** `TF_INPUT` forbids questions, as for the reference command. */
function mayAsk({ TF_INPUT: text }: NodeJS.ProcessEnv): boolean {
  return text === undefined || !/^(?:0|f|F|FALSE|false|False)$/.test(text);
}

async function askLine(
  { input, output, interrupt }: TerminalStreams,
  question: string,
  { signal, hidden = false }: { readonly signal?: AbortSignal; readonly hidden?: boolean },
): Promise<string | undefined> {
  // What is wrapped stands above: the line that is edited is the last one alone.
  const wrapped = wrapWords(question, known(output.columns, DEFAULT_WIDTH), "");
  const last = wrapped.lastIndexOf("\n") + 1;
  output.write(hidden ? wrapped : wrapped.slice(0, last));
  const reader = hidden
    ? createInterface({
        input,
        output: new Writable({ write: (_chunk, _encoding, done) => done() }),
        terminal: true,
      })
    : createInterface({ input, output });
  reader.once("SIGINT", () => interrupt?.());
  const ended = new Promise<undefined>((resolve) => {
    reader.once("close", () => {
      resolve(undefined);
    });
  });
  let answer: string | undefined;
  try {
    const asked = reader.question(
      hidden ? "" : wrapped.slice(last),
      signal === undefined ? {} : { signal },
    );
    answer = await Promise.race([asked, ended]);
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    reader.close();
    // Enter ends the line of the question by itself, where it is shown.
    if (hidden || answer === undefined) output.write("\n");
  }
  return answer;
}

function wantsColor({ env, noColor }: TerminalStreams, isTerminal: boolean): boolean {
  if (noColor === true) return false;
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}

/** A terminal of unknown size, as in containers, has 0 columns and lines. */
function known(size: number | undefined, fallback: number): number {
  return size === undefined || size === 0 ? fallback : size;
}
