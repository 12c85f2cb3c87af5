import { openStore, readStoreLayout, type StoreAddress } from "@stackwright/core";
import { isStorageError } from "@stackwright/storage";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { storeAccessError, storeLockedError } from "../session/store-errors.ts";
import { existingStore, type WholeStoreOptions } from "../session/whole-store.ts";

export interface UpgradeOptions extends WholeStoreOptions {
  /** Only says what would be done. */
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** Brings the tables of a store to the layout of this release. With `dryRun` exit code 2 says that they are not. */
export async function storeUpgrade(
  options: UpgradeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const { address, name, blobDirectory } = await existingStore(context, options);
  const before = await layoutOf(address);
  const isOld = before !== undefined && before.stored < before.newest;
  if (isOld && !options.dryRun) await open(address, blobDirectory);
  const stored = isOld && !options.dryRun ? before.newest : before?.stored;
  if (options.json) {
    const report = {
      store: name,
      former_layout: before?.stored ?? null,
      layout: stored ?? null,
      newest_layout: before?.newest ?? null,
    };
    terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  } else if (before === undefined) {
    terminal.write(`${name}: etcd has no tables; there is nothing to do.\n`);
  } else if (!isOld) {
    terminal.write(`${name}: the tables have layout ${before.stored}, that of this release.\n`);
  } else if (before.stored === 0) {
    const what = options.dryRun
      ? "there are no tables yet; they would be made"
      : "the tables were made";
    terminal.write(`${name}: ${what}, with layout ${before.newest}.\n`);
  } else if (options.dryRun) {
    terminal.write(
      `${name}: the tables have layout ${before.stored}, this release works with ${before.newest}. ` +
        "Save a backup with the former release before it is changed: older releases do not open the tables afterwards.\n",
    );
  } else {
    terminal.write(
      `${name}: the tables have layout ${before.newest} now; it was ${before.stored}.\n`,
    );
  }
  return isOld && options.dryRun ? EXIT.changes : EXIT.ok;
}

async function layoutOf(address: StoreAddress) {
  try {
    return await readStoreLayout(address);
  } catch (error) {
    throw storeAccessError(address, error);
  }
}

/** An open for writing changes the tables. */
async function open(address: StoreAddress, blobDirectory: string): Promise<void> {
  try {
    const store = await openStore(address, { blobDirectory });
    await store[Symbol.asyncDispose]();
  } catch (error) {
    if (!isStorageError(error, "STORAGE_LOCKED")) throw storeAccessError(address, error);
    if (address.kind === "sqlite") {
      throw storeLockedError(
        error,
        "The tables of an embedded store are changed while nothing else uses it.",
        { isWhole: true },
      );
    }
    throw new CommandError(error.message, { cause: error });
  }
}
