import process from "node:process";
import { runCommand } from "./run-command.ts";

// The entry of the `stackwright` process: the only place that touches signals and the exit code.

const graceful = new AbortController();
const forced = new AbortController();

function interrupt(signal: "SIGINT" | "SIGTERM"): void {
  // Whoever asks a third time does not want to wait for anything.
  if (forced.signal.aborted) process.exit(130);
  if (graceful.signal.aborted) forced.abort(new Error(`stopped at once by ${signal}`));
  else graceful.abort(new Error(`stopped by ${signal}`));
}

process.on("SIGINT", () => {
  interrupt("SIGINT");
});
process.on("SIGTERM", () => {
  interrupt("SIGTERM");
});
// A reader that goes away, as `stackwright show | head`, is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await runCommand(process.argv.slice(2), {
  streams: {
    input: process.stdin,
    output: process.stdout,
    error: process.stderr,
    env: process.env,
    interrupt: () => {
      interrupt("SIGINT");
    },
  },
  cwd: process.cwd(),
  signal: graceful.signal,
  forceSignal: forced.signal,
});
