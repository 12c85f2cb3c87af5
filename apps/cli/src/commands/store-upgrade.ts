import { systemClock } from "@stackwright/base/clock";
import { openStore, readStoreLayout, type StoreAddress } from "@stackwright/core";
import { examineRecords, findLiveProcesses } from "@stackwright/engine";
import { isStorageError } from "@stackwright/storage";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { storeAccessError, storeLockedError } from "../session/store-errors.ts";
import { existingStore, openWholeStore, type WholeStoreOptions } from "../session/whole-store.ts";

export interface UpgradeOptions extends WholeStoreOptions {
  /** Only says what would be done. */
  readonly dryRun: boolean;
  readonly json: boolean;
}

type Layout = Awaited<ReturnType<typeof readStoreLayout>>;
type RecordFindings = Awaited<ReturnType<typeof examineRecords>>;
type LiveProcesses = Awaited<ReturnType<typeof findLiveProcesses>>;

/** What was found in a store besides its tables. */
interface StoreFindings {
  readonly records: RecordFindings;
  readonly processes: LiveProcesses;
}

/**
 * Brings the tables of a store to the layout of this release, and says what in it this release cannot read and which processes use it. With `dryRun`
 * exit code 2 says that the tables would be changed. Exit code 1 where there is something that it cannot read.
 */
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
  // Reading tables of an older release would change them: those of a server's database, and those that are not made yet.
  const isReadable = stored === before?.newest || (address.kind === "sqlite" && stored !== 0);
  const found = isReadable ? await findingsOf(options, context) : undefined;
  if (options.json) {
    const report = {
      store: name,
      former_layout: before?.stored ?? null,
      layout: stored ?? null,
      newest_layout: before?.newest ?? null,
      ...findingsView(found),
    };
    terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  } else {
    terminal.write(`${name}: ${layoutText(before, options.dryRun)}\n`);
    if (found !== undefined) terminal.write(recordsText(found.records));
    else if (stored !== 0) {
      terminal.write("The records are read once the tables have the layout of this release.\n");
    }
    if (found !== undefined) terminal.write(processesText(found.processes, commandVersion()));
  }
  if (found !== undefined && isUnreadable(found.records)) return EXIT.failed;
  return isOld && options.dryRun ? EXIT.changes : EXIT.ok;
}

function layoutText(before: Layout, dryRun: boolean): string {
  if (before === undefined) return "etcd has no tables to bring to this release.";
  if (before.stored >= before.newest) {
    return `the tables have layout ${before.stored}, that of this release.`;
  }
  if (before.stored === 0) {
    const what = dryRun ? "there are no tables yet; they would be made" : "the tables were made";
    return `${what}, with layout ${before.newest}.`;
  }
  if (!dryRun) return `the tables have layout ${before.newest} now; it was ${before.stored}.`;
  return (
    `the tables have layout ${before.stored}, this release works with ${before.newest}. ` +
    "Save a backup with the former release before it is changed: older releases do not open the tables afterwards."
  );
}

async function findingsOf(
  options: UpgradeOptions,
  context: CommandContext,
): Promise<StoreFindings> {
  const { signal } = context;
  await using store = await openWholeStore(context, options);
  const { storage } = store;
  const [records, processes] = await Promise.all([
    examineRecords(storage, signal),
    findLiveProcesses(storage, { clock: systemClock, signal }),
  ]);
  return { records, processes };
}

function isUnreadable({ unknownKinds, unreadable, damaged }: RecordFindings): boolean {
  return unknownKinds.size > 0 || unreadable.count > 0 || damaged.count > 0;
}

function recordsText(found: RecordFindings): string {
  const { records, unknownKinds, unreadable, damaged } = found;
  if (!isUnreadable(found)) return `This release reads all ${records} records.\n`;
  const kinds = Array.from(unknownKinds, ([kind, count]) => `${kind} (${count})`);
  const newer =
    kinds.length === 0
      ? ""
      : `Of kinds that this release does not know: ${kinds.join(", ")}. A newer release has written them: use that one.\n`;
  return (
    `${records} records were read.\n${newer}` +
    namedText("In a form that this release does not read", unreadable) +
    namedText("Damaged (see stackwright admin damaged)", damaged)
  );
}

function namedText(what: string, { count, names }: RecordFindings["damaged"]): string {
  if (count === 0) return "";
  const more = count > names.length ? `  and ${count - names.length} more\n` : "";
  return `${what}: ${count}\n${names.map((name) => `  ${name}\n`).join("")}${more}`;
}

function processesText(processes: LiveProcesses, release: string): string {
  if (processes.length === 0) return "No server, worker or command changes the store now.\n";
  const lines = processes.map(
    (one) => `  ${one.kind} ${one.name}${one.kind === "server" ? releaseText(one, release) : ""}\n`,
  );
  return `Processes that use the store now:\n${lines.join("")}`;
}

function releaseText({ release }: LiveProcesses[number], own: string): string {
  if (release === undefined)
    return `, which says no release: one before that of this command (${own})`;
  if (release === own) return `, release ${release}, that of this command`;
  return `, release ${release}, not that of this command (${own})`;
}

function findingsView(found: StoreFindings | undefined) {
  if (found === undefined) return { records: null, processes: null };
  const { records, unknownKinds, unreadable, damaged } = found.records;
  return {
    records: {
      count: records,
      unknown_kinds: Object.fromEntries(unknownKinds),
      unreadable,
      damaged,
    },
    processes: found.processes.map(({ kind, name, release }) => ({
      kind,
      name,
      release: release ?? null,
    })),
  };
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
