import { resolve } from "node:path";
import type { Command } from "commander";
import type { CommandProcess } from "./command-context.ts";
import type { Define, RunAction } from "./program.ts";

/** Commands that run until they are stopped. */
export function defineServerCommands(
  define: Define,
  run: RunAction,
  { forceSignal }: Pick<CommandProcess, "forceSignal">,
): void {
  define("serve", "run the server: registry, storage service")
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText("after", "\nThe options of the server: stackwright serve --options")
    .option("--options", "list the options of the server", false)
    .action(async ({ options: list }: { options: boolean }, command: Command) => {
      const { parseServeArguments, SERVE_FLAGS, serve } = await import("../server/index.ts");
      await run(command, async ({ terminal, env, directory, signal }) => {
        if (list) {
          for (const [name, { help }] of Object.entries(SERVE_FLAGS)) {
            terminal.write(`  --${name.padEnd(24)} ${help}\n`);
          }
          return 0;
        }
        const options = await parseServeArguments(command.args, env, directory);
        await using server = await serve(options, { signal });
        terminal.writeError(`The server is at ${server.url}\n`);
        await Promise.race([server.stopped, aborted(forceSignal)]);
        return 0;
      });
    });

  const functions = define(
    "functions",
    "a stand-in for a function platform, for development and tests",
  );
  define("serve <file>", "run the functions of a file", functions)
    .option("--port <port>", "port of HTTP", "9000")
    .action(async (file: string, { port }: { port: string }, command: Command) => {
      const { readFunctionsFile, serveFunctions } = await import("@stackwright/fg-bridge/runtime");
      await run(command, async ({ terminal, directory, signal }) => {
        const read = await readFunctionsFile(resolve(directory, file));
        await using server = await serveFunctions({ ...read, port: Number(port) });
        terminal.write(`${read.functions.length} functions are at ${server.url}\n`);
        terminal.write("This stands in for a function platform; it is no such platform.\n");
        await Promise.race([aborted(signal), aborted(forceSignal)]);
        return 0;
      });
    });
}

async function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
