import type { Command } from "commander";
import type { CommandProcess } from "./command-context.ts";
import type { FunctionsServeOptions } from "./commands/functions-serve.ts";
import { listening } from "./listening.ts";
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
        await using server = await listening(async () =>
          serve(options, { signal, env, directory }),
        );
        terminal.writeError(`The server is at ${server.url}\n`);
        if (server.storageAddress !== undefined) {
          terminal.writeError(`The store is at ${server.storageAddress}\n`);
        }
        await Promise.race([server.stopped, aborted(forceSignal)]);
        return 0;
      });
    });

  define("bootstrap", "make a token and an access key for the server, without a running one")
    .allowUnknownOption()
    .allowExcessArguments()
    .usage("[--account NAME] [--output FILE] [--again] [--store ADDRESS] [options of the server]")
    .action(async (_options: unknown, command: Command) => {
      const { runBootstrap } = await import("../server/index.ts");
      await run(command, async ({ terminal, env, directory }) => {
        terminal.write(await runBootstrap(command.args, env, directory));
        return 0;
      });
    });

  const functions = define(
    "functions",
    "a stand-in for a function platform, for development and tests",
  );
  define("serve <file>", "run the functions of a file", functions)
    .option(
      "--host <address>",
      "address to listen on; others than this machine need accounts",
      "127.0.0.1",
    )
    .option("--port <port>", "port of HTTP", "9000")
    .option("--no-watch", "do not deploy anew what changes")
    .action(async (file: string, options: FunctionsServeOptions, command: Command) => {
      const { functionsServe } = await import("./commands/functions-serve.ts");
      await run(command, async (context) => functionsServe(file, options, context));
    });
}

async function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
