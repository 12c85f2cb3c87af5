import { Socket } from "node:net";
import process from "node:process";
import { runExecutor } from "./executor/run-executor.ts";

const STDOUT_FD = 1;

/**
 * Executes one step of a run that a worker gives over standard input, answers it over standard output, and ends the process: what a
 * worker starts in a container. Whatever else writes to standard output writes to standard error.
 */
export async function runExecuteCommand(): Promise<void> {
  const events = new Socket({ fd: STDOUT_FD, readable: false, writable: true });
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // The first process of a container cannot be killed from within; all others end with it.
  await runExecutor({ control: process.stdin, events, kill: () => process.exit(1) });
}
