import { randomBytes } from "node:crypto";
import { FunctionCaller, FunctionTargetTable } from "@stackwright/fg-bridge";
import { serveFunctions, watchFunctions } from "@stackwright/fg-bridge/runtime";
import type { PluginTransport } from "@stackwright/tfplugin";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { functionLogger, functionName } from "../session/function-log.ts";
import { readFunctions } from "../session/functions-file.ts";
import { printable, printableLines } from "../terminal/printable.ts";

/** Which function is run. */
interface DevelopedFunctionOptions {
  /** A file of functions with one. */
  readonly path: string;
  /** Redeploys it when its code or the file changes. */
  readonly watch: boolean;
}

/** A provider that runs as a function. */
interface DevelopedFunction extends AsyncDisposable {
  /** Calls the function by its contract, as an engine does. */
  readonly transport: PluginTransport;
  watch(): void;
}

/**
 * Runs the function of a file in a local function runtime that only this process may call. An engine that is connected to the
 * transport uses the provider as it will be used on a platform: one process for each request, configured each time, and all that
 * passes is what envelopes can carry.
 */
export async function startDevelopedFunction(
  { path, watch }: DevelopedFunctionOptions,
  { terminal }: Pick<CommandContext, "terminal">,
): Promise<DevelopedFunction> {
  const read = await readFunctions(path);
  const [only, second] = read.functions;
  if (only === undefined || second !== undefined) {
    throw new CommandError(
      `The file "${printable(path)}" has ${read.functions.length} functions; a provider is one.`,
      { advice: "Name a file with its function alone: --function FILE." },
    );
  }
  const [, , region = "", project = ""] = only.urn.split(":");
  const key = { accessKey: "development", secretKey: randomBytes(24).toString("hex") };
  await using cleanup = new AsyncDisposableStack();
  const server = cleanup.use(
    await serveFunctions({
      functions: read.functions,
      accounts: [{ ...key, projects: [project] }],
      logger: functionLogger(terminal),
    }),
  );
  const targets = cleanup.use(
    new FunctionTargetTable({
      regions: { [region]: { endpoint: server.url, credentials: key } },
      guard: { allow: ["127.0.0.0/8"] },
    }),
  );
  const caller = new FunctionCaller();
  const target = targets.resolve(only.urn, { projects: [project] });
  const held = cleanup.move();
  return {
    transport: caller.transport({ target }),
    watch: () => {
      if (!watch) return;
      held.use(
        watchFunctions(path, read, server, {
          onDeployed: (urn, why) => {
            terminal.writeError(`${functionName(urn)}: ${why}\n`);
          },
          onProblem: (error) => {
            const reason = error instanceof Error ? error.message : String(error);
            terminal.writeError(
              `The changed function was not deployed: ${printableLines(reason)}\n`,
            );
          },
        }),
      );
    },
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  };
}
