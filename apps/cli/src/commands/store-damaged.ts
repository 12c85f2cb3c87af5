import { resolve } from "node:path";
import { isStorageError } from "@stackwright/storage";
import {
  damagedResources,
  dropDamaged,
  exportDamaged,
  exportedDamage,
  shownDamage,
} from "@stackwright/storage/backup";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openWholeStore, type WholeStoreOptions } from "../session/whole-store.ts";

/** Names the damaged resources of a store. Exit code 1 when there is one. */
export async function storeDamagedList(
  options: WholeStoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  await using store = await openWholeStore(context, options);
  let count = 0;
  for await (const damaged of damagedResources(store.storage, { signal })) {
    count += 1;
    terminal.write(`${shownDamage(damaged)}\n`);
  }
  terminal.write(`${store.name}: ${countOf(count)} damaged.\n`);
  return count === 0 ? EXIT.ok : EXIT.failed;
}

/** Copies the damaged resources of a store into a new file, as they are. */
export async function storeDamagedExport(
  file: string,
  options: WholeStoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const path = resolve(context.directory, file);
  await using store = await openWholeStore(context, options);
  try {
    const count = await exportDamaged(store.storage, path, { signal });
    terminal.write(`${countOf(count)} damaged; what is stored of them is in ${path}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new CommandError(`${path} exists.`, { cause: error, advice: "Name a new file." });
  }
  return EXIT.ok;
}

/** Deletes the damaged resources that an export names. Exit code 1 when one was not deleted. */
export async function storeDamagedDrop(
  file: string,
  options: WholeStoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const path = resolve(context.directory, file);
  await using store = await openWholeStore(context, options, "write");
  let dropped = 0;
  let left = 0;
  try {
    for await (const damaged of exportedDamage(path)) {
      if (await dropDamaged(store.storage, damaged, { signal })) {
        dropped += 1;
        terminal.write(`Dropped: ${shownDamage(damaged)}\n`);
      } else {
        left += 1;
        terminal.writeError(`Not dropped, as it has changed since: ${shownDamage(damaged)}\n`);
      }
    }
  } catch (error) {
    if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
    const advice = "The file is one that `stackwright admin damaged export` has written.";
    throw new CommandError(error.message, { cause: error, advice });
  }
  terminal.write(`${store.name}: ${countOf(dropped)} dropped.\n`);
  return left === 0 ? EXIT.ok : EXIT.failed;
}

function countOf(count: number): string {
  return count === 1 ? "1 resource is" : `${count} resources are`;
}
