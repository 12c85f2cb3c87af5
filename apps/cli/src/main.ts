import process from "node:process";
import { onStopSignals, type StopSignal } from "./program/process-signals.ts";
import { runCommand } from "./program/run-command.ts";

// The entry of the `stackwright` process: the only place that touches signals and the exit code.

const graceful = new AbortController();
const forced = new AbortController();

function interrupt(signal: StopSignal): void {
  // After the third signal nothing is waited for.
  if (forced.signal.aborted) process.exit(130);
  if (graceful.signal.aborted) forced.abort(new Error(`stopped at once by ${signal}`));
  else graceful.abort(new Error(`stopped by ${signal}`));
}

onStopSignals(process, interrupt);
// The channel to a launcher does not keep the process alive.
process.channel?.unref();
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
