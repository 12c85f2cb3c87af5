import { PassThrough, Readable } from "node:stream";
import type { CalledAs } from "../called-as.ts";
import { runCommand } from "../program/run-command.ts";

/** What a command wrote and how it ended. */
export interface CommandResult {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** Runs a command in this process, as tests do. */
export async function tryCommand(
  words: readonly string[],
  options: {
    readonly cwd?: string;
    readonly input?: string;
    readonly env?: NodeJS.ProcessEnv;
    readonly signal?: AbortSignal;
    readonly calledAs?: CalledAs;
    /** Called with each piece that the command writes to standard error, as it writes it. */
    readonly onError?: (text: string) => void;
    /** The same for standard output. */
    readonly onOutput?: (text: string) => void;
  } = {},
): Promise<CommandResult> {
  const output = new PassThrough();
  const error = new PassThrough();
  for (const [stream, tell] of [
    [error, options.onError],
    [output, options.onOutput],
  ] as const) {
    if (tell === undefined) continue;
    const write = stream.write.bind(stream);
    stream.write = (chunk: unknown) => {
      tell(String(chunk));
      return write(chunk);
    };
  }
  const never = new AbortController().signal;
  const code = await runCommand(words, {
    streams: {
      input: Readable.from([Buffer.from(options.input ?? "")]),
      output,
      error,
      env: options.env ?? {},
    },
    cwd: options.cwd ?? process.cwd(),
    signal: options.signal ?? never,
    forceSignal: never,
    ...(options.calledAs !== undefined && { calledAs: options.calledAs }),
  });
  return { code, output: text(output), error: text(error) };
}

function text(stream: PassThrough): string {
  const chunk = stream.read() as Buffer | null;
  return chunk === null ? "" : chunk.toString("utf8");
}
