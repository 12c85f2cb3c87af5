import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { createStyle, type Style } from "./display/style.ts";

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
  /** Whether a person sits there: questions may be asked, lines may be redrawn. */
  readonly interactive: boolean;
  /** Asks for one line; undefined where the input has ended. Rejects when `signal` is aborted. */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>;
  /** The lines of standard input. */
  lines(): AsyncIterable<string>;
  /** The whole of standard input. */
  readAll(): Promise<string>;
}

/** The streams of a process, and what decides about colours. */
export interface TerminalStreams {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly error: Writable;
  readonly env: NodeJS.ProcessEnv;
  /** Asked for by `-no-color`. */
  readonly noColor?: boolean;
}

/** Narrowest layout; below, lines wrap as the terminal likes. */
const MIN_WIDTH = 40;
/** Wider lines are hard to read. */
const MAX_WIDTH = 120;
const DEFAULT_WIDTH = 78;

/** A terminal over streams. Colour: `NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`, else whether it is one. */
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
      const { columns = DEFAULT_WIDTH } = output;
      return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, isTerminal ? columns : DEFAULT_WIDTH));
    },
    interactive: isTerminal && input.isTTY === true && env.TERM !== "dumb",
    ask: async (question, signal) => {
      const reader = createInterface({ input, output });
      try {
        const ended = new Promise<undefined>((resolve) => {
          reader.once("close", () => {
            resolve(undefined);
          });
        });
        const answer = reader.question(question, signal === undefined ? {} : { signal });
        return await Promise.race([answer, ended]);
      } finally {
        reader.close();
      }
    },
    lines: () => createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }),
    readAll: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array));
      return Buffer.concat(chunks).toString("utf8");
    },
  };
}

function wantsColor({ env, noColor }: TerminalStreams, isTerminal: boolean): boolean {
  if (noColor === true) return false;
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}
