import { type CommandResult, runCommand } from "@stackwright-tools/processes";

/** Runs a command of a suite from a folder. Its errors are shown, and unless they are captured, its other output too. */
export async function runSuiteCommand(
  command: readonly [string, ...string[]],
  options: {
    readonly cwd: string;
    /** Added to the environment of this process. */
    readonly env?: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
    /** Collect standard output instead of showing it. @default false */
    readonly capture?: boolean;
  },
): Promise<CommandResult> {
  return runCommand(command, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    timeoutMs: options.timeoutMs,
    show: options.capture === true ? "stderr" : "all",
    forwardsInterrupt: true,
  });
}
