import process from "node:process";
import { EngineError } from "@stackwright/core/errors";
import { runBootstrap } from "./bootstrap-command.ts";
import { runWorkerCommand } from "./run-worker-command.ts";
import { serve } from "./serve.ts";
import { parseServeArguments, serveVariableWarnings } from "./serve-arguments.ts";

// The server as a process of its own: `serve [options]`, or `bootstrap --account NAME [--again]
// [--output FILE] [options]`, or `worker [options]`. Only here are signals, exit code and standard streams touched.

const [command, ...args] = process.argv.slice(2);
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error(`stopped by ${name}`));
  });
}

try {
  if (command === "serve") {
    for (const warning of serveVariableWarnings(process.env)) {
      process.stderr.write(`Warning: ${warning}\n`);
    }
    const options = await parseServeArguments(args, process.env, process.cwd());
    const server = await serve(options, { signal: stop.signal });
    await server.stopped;
  } else if (command === "bootstrap") {
    process.stdout.write(await runBootstrap(args, process.env, process.cwd()));
  } else if (command === "worker") {
    const { env } = process;
    await runWorkerCommand(args, { env, directory: process.cwd(), signal: stop.signal });
  } else {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      "there are three commands: serve, bootstrap and worker",
    );
  }
} catch (error) {
  const code = (error as { code?: unknown }).code;
  const known = error instanceof Error && typeof code === "string";
  process.stderr.write(known ? `${error.message} (${code})\n` : `${String(error)}\n`);
  process.exitCode = 1;
}
