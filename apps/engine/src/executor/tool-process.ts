import { spawn } from "node:child_process";
import process from "node:process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "@stackwright/core";
import { PrintedState } from "./printed-state.ts";

/** How a tool is started. */
export interface ToolCall {
  /** Path of the program. */
  readonly path: string;
  readonly words: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** What nothing of its output may show. */
  readonly secrets: Redactor;
  /** Asks it to stop, once, as an interrupt of its terminal does. */
  readonly stop: AbortSignal;
  /** Ends it. */
  readonly force: AbortSignal;
  /**
   * Whether it gets a process group, which is ended as a whole. An executor that is a group itself keeps its tools in it, so
   * that they end with it. @default false
   */
  readonly ownGroup?: boolean;
  /** A line of its output, without secrets; the tool waits until it resolves. @default nothing is passed on */
  readonly onLine?: (text: string) => Promise<void> | undefined;
  /** Whether states that it prints are taken out of what is passed on. @default false */
  readonly takesStates?: boolean;
  /** Bytes of standard output that are returned; a tool that writes more is ended. @default none is returned */
  readonly keepBytes?: number;
}

export interface ToolEnd {
  /** Undefined where a signal ended it. */
  readonly code: number | undefined;
  /** Standard output, as far as it was to be kept. */
  readonly output: string;
  /** The last state that it printed, as far as they were to be taken; see {@link PrintedState}. */
  readonly printedState: string | undefined;
  /** The last lines of what it wrote, without secrets. */
  readonly tail: readonly string[];
  /** It wrote more than may be kept. */
  readonly isTooLarge: boolean;
}

/** Characters of a line; a longer one is passed on in parts. */
const MAX_LINE = 8 * 1024;
const TAIL = 40;

/** Starts a tool and resolves when it has ended, with all that it wrote. Rejects where it cannot be started. */
export async function runTool(call: ToolCall): Promise<ToolEnd> {
  const { stop, force, ownGroup = false, keepBytes, takesStates = false } = call;
  force.throwIfAborted();
  const child = spawn(call.path, [...call.words], {
    cwd: call.directory,
    env: { ...call.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: ownGroup,
  });
  const exited = new Promise<number | undefined>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? undefined));
  });
  const kill = (signal: NodeJS.Signals): void => {
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      if (ownGroup && signal === "SIGKILL") process.kill(-pid, signal);
      else child.kill(signal);
    } catch {
      // It has ended by itself.
    }
  };
  const interrupt = (): void => kill("SIGINT");
  const end = (): void => kill("SIGKILL");
  stop.addEventListener("abort", interrupt, { once: true });
  force.addEventListener("abort", end, { once: true });
  if (stop.aborted) interrupt();
  const kept: Buffer[] = [];
  let bytes = 0;
  let isTooLarge = false;
  const tail: string[] = [];
  const pass = async (text: string): Promise<void> => {
    tail.push(text);
    if (tail.length > TAIL) tail.shift();
    await call.onLine?.(text);
  };
  const keep = async (): Promise<void> => {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > (keepBytes ?? 0)) {
        isTooLarge = true;
        end();
      } else kept.push(chunk);
    }
  };
  const [inOutput, inErrors] = takesStates ? [new PrintedState(), new PrintedState()] : [];
  try {
    const [code] = await Promise.all([
      exited,
      keepBytes === undefined ? passLines(child.stdout, call.secrets, pass, inOutput) : keep(),
      passLines(child.stderr, call.secrets, pass, inErrors),
    ]);
    const output = Buffer.concat(kept).toString("utf8");
    const printedState = inErrors?.content ?? inOutput?.content;
    return { code, output, printedState, tail, isTooLarge };
  } finally {
    stop.removeEventListener("abort", interrupt);
    force.removeEventListener("abort", end);
    end();
  }
}

/** The lines of a stream, without secrets, also where one is split over lines, and without a state that is taken out. */
export async function passLines(
  stream: Readable,
  secrets: Redactor,
  pass: (text: string) => Promise<void>,
  printedState?: PrintedState,
): Promise<void> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let begun: ReturnType<Redactor["redactPiece"]>["unfinished"] = [];
  const say = async (pieces: readonly string[]): Promise<void> => {
    for (const piece of pieces) await sayOne(piece);
  };
  const take = async (piece: string): Promise<void> => say(printedState?.take(piece) ?? [piece]);
  const sayOne = async (piece: string): Promise<void> => {
    const { text, unfinished } = secrets.redactPiece(piece, begun);
    begun = unfinished;
    await pass(text.replace(/\r?\n$/, ""));
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    rest += decoder.write(chunk);
    for (;;) {
      const at = rest.indexOf("\n");
      const length = at === -1 ? (rest.length >= MAX_LINE ? MAX_LINE : 0) : at + 1;
      if (length === 0) break;
      const piece = rest.slice(0, Math.min(length, MAX_LINE));
      rest = rest.slice(piece.length);
      await take(piece);
    }
  }
  rest += decoder.end();
  if (rest !== "") await take(rest);
  await say(printedState?.flush() ?? []);
}
