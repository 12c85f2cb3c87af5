import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openWholeStore, type WholeStoreOptions } from "../session/whole-store.ts";

/** Says how much history a store has. */
export async function storeHistory(
  options: WholeStoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  await using store = await openWholeStore(context, options);
  if (store.historySize === undefined) {
    throw new CommandError(`The store ${store.name} does not say how much history it has.`, {
      advice:
        "Its cluster keeps the history: `etcdctl endpoint status` names the revision and the bytes.",
    });
  }
  const { events, bytes, oldestMs } = await store.historySize(context.signal);
  const since = oldestMs === undefined ? "" : `, the oldest of ${new Date(oldestMs).toISOString()}`;
  context.terminal.write(`${store.name}: ${events} commits of ${bytes} bytes${since}\n`);
  return EXIT.ok;
}
