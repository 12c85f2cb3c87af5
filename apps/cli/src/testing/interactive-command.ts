import { PassThrough } from "node:stream";
import { runCommand } from "../program/run-command.ts";

/** A command at a terminal, as a test types at it. */
interface InteractiveCommand {
  readonly text: () => string;
  readonly ended: Promise<number>;
  /** The first match in what it writes. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  type(line: string): void;
  /** The first Ctrl-C, or the second. */
  interrupt(): void;
}

/** Runs a command in this process with a terminal. */
export function runInteractively(
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): InteractiveCommand {
  const [graceful, forced] = [new AbortController(), new AbortController()];
  const interrupt = (): void => {
    if (graceful.signal.aborted) forced.abort(new Error("stopped at once by SIGINT"));
    else graceful.abort(new Error("stopped by SIGINT"));
  };
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120, rows: 40 });
  const error = new PassThrough();
  let text = "";
  const waiting = new Set<() => void>();
  for (const stream of [output, error]) {
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      for (const look of waiting) look();
    });
  }
  const ended = runCommand(words, {
    streams: { input, output, error, env: { NO_COLOR: "1", ...options.env }, interrupt },
    cwd: options.cwd,
    signal: graceful.signal,
    forceSignal: forced.signal,
  });
  return {
    text: () => text,
    ended,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(text);
          if (found === null) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        void ended.then((code) => reject(new Error(`it ended with ${code}: ${text}`)));
        look();
      }),
    type: (line) => void input.write(`${line}\r`),
    interrupt,
  };
}
