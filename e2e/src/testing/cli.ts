import { type ChildProcess, spawn } from "node:child_process";
import { installation } from "../installation/installation.ts";
import type { Scratch } from "./scratch.ts";
import { waitFor } from "./wait-for.ts";

/** The command as people start it: the sources, or the built packages that `E2E_INSTALLATION` names. */
export const COMMAND: readonly [string, string] = installation().command;

const LIMIT_MS = 90_000;

interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; without it there is none. */
  readonly input?: string;
}

export interface CliResult {
  /** Undefined where a signal ended it. */
  readonly code: number | undefined;
  readonly output: string;
  readonly error: string;
}

/** A command that runs. */
export class CliProcess {
  readonly child: ChildProcess;
  readonly #ended: Promise<CliResult>;
  #output = "";
  #error = "";

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#error += text));
    this.#ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        resolve({ code: code ?? undefined, output: this.#output, error: this.#error });
      });
    });
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Both streams so far. */
  get text(): string {
    return this.#output + this.#error;
  }

  /** Waits until one of the streams has said this. */
  async says(text: string | RegExp): Promise<void> {
    await waitFor(
      `"${text.toString()}"`,
      () =>
        (typeof text === "string" ? this.text.includes(text) : text.test(this.text)) ||
        this.hasEnded,
      { seen: () => this.text },
    );
    if (typeof text === "string" ? !this.text.includes(text) : !text.test(this.text)) {
      throw new Error(`ended without saying "${text.toString()}":\n${this.text}`);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** How it ends; ends it where that takes too long. */
  async end(limitMs = LIMIT_MS): Promise<CliResult> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.child.kill("SIGKILL");
    }, limitMs);
    try {
      const result = await this.#ended;
      if (late) throw new Error(`did not end within ${limitMs / 1000} s:\n${this.text}`);
      return result;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Starts the command with words in a folder of the test. */
export function startCli(
  scratch: Scratch,
  words: readonly string[],
  options: CliOptions = {},
): CliProcess {
  const [program, entry] = COMMAND;
  const child = spawn(program, [entry, ...words], {
    cwd: options.cwd ?? scratch.work,
    env: { ...scratch.env, ...options.env },
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  if (options.input !== undefined) child.stdin?.end(options.input);
  return new CliProcess(child);
}

/** Runs the command to its end. */
export async function cli(
  scratch: Scratch,
  words: readonly string[],
  options: CliOptions = {},
): Promise<CliResult> {
  return startCli(scratch, words, options).end();
}
