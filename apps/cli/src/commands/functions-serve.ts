import { resolve } from "node:path";
import { isFgBridgeError } from "@stackwright/fg-bridge";
import {
  type FunctionsFile,
  readFunctionsFile,
  serveFunctions,
  watchFunctions,
} from "@stackwright/fg-bridge/runtime";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { portOf, withListenErrors } from "../session/listen-error.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface FunctionsServeOptions {
  readonly host: string;
  readonly port: string;
  /** Redeploys functions that change. */
  readonly watch: boolean;
}

/** Runs the functions of a file until it is stopped, and shows what they write and how they fail. */
export async function functionsServe(
  file: string,
  { host, port, watch }: FunctionsServeOptions,
  { terminal, directory, signal, forceSignal }: CommandContext,
): Promise<ExitCode> {
  const path = resolve(directory, file);
  const read = await readFile(path);
  await using server = await withListenErrors(async () =>
    serveFunctions({ ...read, host, port: portOf(port), logger: loggerOn(terminal) }),
  );
  const count = read.functions.length;
  terminal.write(`${count} ${count === 1 ? "function is" : "functions are"} at ${server.url}\n`);
  for (const { urn } of read.functions) terminal.write(`  ${urn}\n`);
  terminal.write(
    "This local function runtime is for development and tests; it does not replace a function platform.\n",
  );
  await using _watching = watch
    ? watchFunctions(path, read, server, {
        onDeployed: (urn, why) => {
          terminal.writeError(`${nameOf(urn)}: ${why}\n`);
        },
        onProblem: (error) => {
          terminal.writeError(`The changed functions were not deployed: ${messageOf(error)}\n`);
        },
      })
    : undefined;
  await Promise.race([aborted(signal), aborted(forceSignal)]);
  return EXIT.ok;
}

async function readFile(path: string): Promise<FunctionsFile> {
  try {
    return await readFunctionsFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw new CommandError(`There is no file of functions "${path}".`, { cause: error });
    }
    if (!isFgBridgeError(error)) throw error;
    throw new CommandError(`The file of functions cannot be used: ${error.message}.`, {
      cause: error,
      advice:
        'It is JSON: {"functions": [{"urn": "urn:fss:...", "command": ["node", "function.js"]}], "accounts": [...]}',
    });
  }
}

/** What functions write, line by line, with the name of the function before it. */
function loggerOn(terminal: Terminal) {
  const show = (data: object): void => {
    const { urn = "", text = "" } = data as { readonly urn?: string; readonly text?: string };
    for (const line of text.split("\n")) {
      if (line.trim() !== "") terminal.writeError(`${nameOf(urn)}: ${line}\n`);
    }
  };
  return {
    debug: () => undefined,
    info: show,
    warn: show,
    error: (data: object, message: string) => {
      const { error } = data as { readonly error?: unknown };
      terminal.writeError(`${message}: ${messageOf(error)}\n`);
    },
  };
}

/** Name and version of a function, as shown to users. */
function nameOf(urn: string): string {
  return urn.split(":").slice(-2).join(":");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
