import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { parseStoreAddress, storeName } from "@stackwright/core";
import { findLiveProcesses, STORE_BLOB_KINDS } from "@stackwright/engine";
import type { StorageBackend } from "@stackwright/storage";
import { restoreBackup, verifyStore, writeBackup } from "@stackwright/storage/backup";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import {
  existingStore,
  openEmptyStore,
  openWholeStore,
  requireNewestTables,
  type WholeStoreOptions,
  wholeAddress,
} from "../session/whole-store.ts";

export interface MigrateOptions extends WholeStoreOptions {
  /** A new folder in which the backup stays. @default it is removed */
  readonly through?: string;
  /** Folder of the blobs of the new store, where it has no place for them. @default that of the command */
  readonly targetBlobs?: string;
}

/**
 * Copies a store into an empty one of any engine, by a backup, and verifies that one. Exit code 1 where the copy is damaged, or where something was
 * written to the store after it was copied.
 */
export async function storeMigrate(
  target: string,
  options: MigrateOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const from = wholeAddress(context, options);
  const to = parseStoreAddress(target, context.directory);
  if (storeName(to) === from.name) {
    throw new CommandError(`${from.name} is the store itself.`, {
      advice: "Name the address of another store, an empty one.",
    });
  }
  const targetOptions = {
    store: target,
    ...(options.targetBlobs !== undefined && { blobs: options.targetBlobs }),
  };
  await using resources = new AsyncDisposableStack();
  // What one process may write to is held, so that nothing is written meanwhile.
  const access = from.address.kind === "sqlite" ? "write" : "read";
  // An open for writing would change the tables of an older release, to which the store is still of use.
  if (access === "write") {
    await existingStore(context, options);
    await requireNewestTables(from.address);
  }
  const source = resources.use(await openWholeStore(context, options, access));
  const { storage, blobs } = source;
  if (access === "read") await refuseLive(from.name, storage, signal);
  const directory = await backupFolder(options, context, resources);
  const kinds = STORE_BLOB_KINDS;

  const before = await contentOf(storage, signal);
  const manifest = await writeBackup({ storage, blobs, directory, kinds, signal });
  if (manifest.lost.length > 0) {
    for (const name of manifest.lost) terminal.writeError(`Lost in the store: ${name}\n`);
    throw new CommandError(`${from.name} is damaged, and nothing was copied.`, {
      advice:
        "`stackwright admin damaged` exports and drops damaged resources; a backup is restored without what is lost.",
    });
  }
  const restored = await (async () => {
    await using empty = await openEmptyStore(context, targetOptions);
    return await restoreBackup({ directory, target: empty.target, blobs: empty.blobs, signal });
  })();
  await using copy = await openWholeStore(context, targetOptions);
  const onProblem = (problem: string) => terminal.writeError(`Damaged: ${problem}\n`);
  const { problems } = await verifyStore({
    storage: copy.storage,
    blobs: copy.blobs,
    kinds,
    onProblem,
    signal,
  });
  if (problems > 0) {
    throw new CommandError(`The copy ${copy.name} is damaged.`, {
      advice: "Do not use it. Empty that store, and repeat the command.",
    });
  }
  if ((await contentOf(storage, signal)) !== before) {
    throw new CommandError(
      `Something was written to ${from.name} after it was copied, and ${copy.name} lacks it.`,
      {
        advice:
          "Stop all servers, workers and commands that use it, empty the new store, and repeat the command.",
      },
    );
  }
  terminal.write(
    `${copy.name} has all of ${from.name} and is intact: ${restored.resources} resources, ${restored.blobs} blobs.\n` +
      "Start the servers with its address and the key of the former store.\n",
  );
  return EXIT.ok;
}

/** Refuses a shared store while servers, workers or commands work on it, before anything is copied. */
async function refuseLive(
  name: string,
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<void> {
  const live = await findLiveProcesses(storage, { clock: systemClock, signal });
  if (live.length === 0) return;
  const shown = live.slice(0, 10).map((one) => `${one.kind} ${one.name}`);
  const more = live.length > shown.length ? ` and ${live.length - shown.length} more` : "";
  throw new CommandError(`${name} is in use: ${shown.join(", ")}${more}. Nothing was copied.`, {
    advice:
      "Stop all servers, workers and commands that use it, and repeat the command. One that was killed is noticed after 15 seconds.",
  });
}

/** Where the backup goes; the folder does not exist yet. */
async function backupFolder(
  { through }: MigrateOptions,
  { directory }: CommandContext,
  resources: AsyncDisposableStack,
): Promise<string> {
  if (through !== undefined) return resolve(directory, through);
  const scratch = await mkdtemp(join(tmpdir(), "stackwright-migrate-"));
  resources.defer(async () => rm(scratch, { recursive: true, force: true }));
  return join(scratch, "backup");
}

/** Stands for the versions of all resources, in whatever order they come. */
async function contentOf(storage: StorageBackend, signal: AbortSignal): Promise<string> {
  // What is damaged is for the backup to say.
  const onDamaged = (): void => undefined;
  await using snapshot = await storage.snapshot({ signal, onDamaged });
  let sum = 0n;
  let count = 0;
  for await (const { id, version } of snapshot) {
    const { type, tenancy, name, uid } = id;
    const names = [type.group, type.kind, ...Object.values(tenancy), name, uid, version];
    const digest = createHash("sha256").update(names.join("\0")).digest();
    sum = BigInt.asUintN(64, sum + digest.readBigUInt64LE());
    count += 1;
  }
  return `${count} ${sum}`;
}
