import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openWriter, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";

/**
 * Frees a stack whose run is gone: takes it as soon as its holder shows no life, and gives it back. A run that lives
 * cannot be unlocked; end it instead.
 */
export async function unlock(options: StoreOptions, context: CommandContext): Promise<ExitCode> {
  await using session = await openWriter(context, options);
  const patient = { ...options, lockTimeout: options.lockTimeout ?? "2m" };
  const hold = await acquireStackLock(session, patient, context, { passesLock: true });
  await hold.release();
  const { run } = await session.state.head();
  const rest = run === "" ? "" : " A run was interrupted; the next plan recovers it.";
  context.terminal.write(`The stack "${session.stack.name}" is not locked.${rest}\n`);
  return EXIT.ok;
}
