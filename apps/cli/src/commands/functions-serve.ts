import { resolve } from "node:path";
import { serveFunctions, watchFunctions } from "@stackwright/fg-bridge/runtime";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { functionLogger, functionName } from "../session/function-log.ts";
import { readFunctions } from "../session/functions-file.ts";
import { portOf, withListenErrors } from "../session/listen-error.ts";

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
  const read = await readFunctions(path);
  await using server = await withListenErrors(async () =>
    serveFunctions({ ...read, host, port: portOf(port), logger: functionLogger(terminal) }),
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
          terminal.writeError(`${functionName(urn)}: ${why}\n`);
        },
        onProblem: (error) => {
          terminal.writeError(`The changed functions were not deployed: ${messageOf(error)}\n`);
        },
      })
    : undefined;
  await Promise.race([aborted(signal), aborted(forceSignal)]);
  return EXIT.ok;
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
