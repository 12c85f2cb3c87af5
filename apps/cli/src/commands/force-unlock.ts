import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { ExitCode } from "../exit-code.ts";
import { openReader, type StoreOptions } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";
import { unlock } from "./unlock.ts";

/** Releases the lock of the run with this id, once the run shows no heartbeat. A live run keeps its lock. */
export async function forceUnlock(
  id: string,
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const run = await runOf(options, context);
  const name = stackName(context, options);
  if (run === undefined) {
    throw new CommandError(`The stack "${name}" is not locked by a run.`);
  }
  if (run !== id) {
    throw new CommandError(`The stack "${name}" is locked by the run ${run}, not by ${id}.`, {
      advice: `Use "stackwright force-unlock ${run}".`,
    });
  }
  return unlock({ ...options, lockTimeout: options.lockTimeout ?? "0s" }, context);
}

/** The run that writes the state, or did when it was interrupted. */
async function runOf(options: StoreOptions, context: CommandContext): Promise<string | undefined> {
  const session = await openReader(context, options);
  try {
    if (session?.stack === undefined) return undefined;
    const { run } = await session.stateOf(session.stack).head({ signal: context.signal });
    return run === "" ? undefined : run;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}
