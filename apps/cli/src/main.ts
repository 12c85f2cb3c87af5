import process from "node:process";
import { takeCalledAs } from "./called-as.ts";
import { EXIT } from "./exit-code.ts";
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
/** The exit code where output was lost for another reason than that its reader went away. */
let lost = 0;

// A command whose output is not read any more stops like after Ctrl-C: what it has begun ends and is recorded. To exit at once
// would leave objects behind. A reader that goes away, as of `stackwright show | head`, is no failure.
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") {
    lost = EXIT.failed;
    process.exitCode = lost;
  }
  if (!graceful.signal.aborted) graceful.abort(new Error("stopped, as its output is not read"));
}
process.stdout.on("error", onOutputError);
process.stderr.on("error", onOutputError);

const calledAs = takeCalledAs(process.env);
async function run(): Promise<void> {
  const code = await runCommand(process.argv.slice(2), {
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
    calledAs,
  });
  process.exitCode = code === EXIT.ok ? lost : code;
}

// Where nothing is waited for any more before the command has ended, it has not done what was asked.
process.exitCode = EXIT.failed;
void run();
