import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type OpenRestoreTarget,
  type OpenStore,
  openRestoreTarget,
  openStore,
  readStoreLayout,
  type StoreAddress,
  storeName,
} from "@stackwright/core";
import { isStorageError } from "@stackwright/storage";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { dataFolder, storeAddress } from "./session.ts";
import { storeAccessError, storeLockedError } from "./store-errors.ts";

/** Options that name a whole store. */
export interface WholeStoreOptions {
  /** Address of the store. @default `STACKWRIGHT_STORE`, else the embedded one */
  readonly store?: string;
  /** Folder of the blobs of a store that has no place for them. @default that of the command */
  readonly blobs?: string;
}

/** A store of which all is meant. Disposing closes it. */
export interface WholeStore extends OpenStore {
  /** Address of the store, without credentials. */
  readonly name: string;
}

/** An empty store that is to be filled. Disposing closes it. */
interface EmptyStore extends OpenRestoreTarget {
  /** Address of the store, without credentials. */
  readonly name: string;
}

/**
 * Opens a store as a whole for reading, beside a process that writes to it; with `write` as one that writes, which an
 * embedded store allows to one process. A store behind a server is refused: its blobs and
 * its revisions are known there. So is reading tables in PostgreSQL of an older release, which an open changes.
 */
export async function openWholeStore(
  context: CommandContext,
  options: WholeStoreOptions,
  access: "read" | "write" = "read",
): Promise<WholeStore> {
  const { address, name, blobDirectory } = await existingStore(context, options);
  if (access === "read" && address.kind === "postgres") await requireNewestTables(address);
  try {
    return { ...(await openStore(address, { readOnly: access === "read", blobDirectory })), name };
  } catch (error) {
    if (!isStorageError(error, "STORAGE_LOCKED")) throw storeAccessError(address, error);
    throw storeLockedError(error, "An embedded store is changed by one process at a time.", {
      isWhole: true,
    });
  }
}

/** Refuses a store without tables, and tables of an older release, which an open would change: older releases could not use them any longer. */
export async function requireNewestTables(address: StoreAddress): Promise<void> {
  const name = storeName(address);
  const layout = await readStoreLayout(address).catch((error: unknown) => {
    throw storeAccessError(address, error);
  });
  if (layout === undefined || layout.stored === layout.newest) return;
  if (layout.stored === 0) throw noStore(name);
  throw new CommandError(
    `The tables of ${name} have layout ${layout.stored} of an older release, and this one works with ${layout.newest}.`,
    {
      advice:
        "Use the release of its servers for it, or bring the tables to this one first: stackwright admin upgrade",
    },
  );
}

/** An open would change the tables of a store that is there, before it is refused for what is in it. */
async function refuseOlderStore(address: StoreAddress): Promise<void> {
  const layout = await readStoreLayout(address).catch((error: unknown) => {
    // There is none.
    if (isStorageError(error, "STORAGE_INVALID_ARGUMENT") && address.kind === "sqlite")
      return undefined;
    throw storeAccessError(address, error);
  });
  if (layout === undefined || layout.stored === 0 || layout.stored === layout.newest) return;
  throw new CommandError(`${storeName(address)} is a store of an older release.`, {
    advice: "A backup is restored into a new one: name another address.",
  });
}

function noStore(name: string): CommandError {
  return new CommandError(`There is no store at ${name}.`, {
    advice: "The address is that of --store or STACKWRIGHT_STORE.",
  });
}

/** Opens a store that a backup is restored into, as the one that writes to it. Refuses what {@link openWholeStore} refuses. */
export async function openEmptyStore(
  context: CommandContext,
  options: WholeStoreOptions,
): Promise<EmptyStore> {
  const { address, name } = wholeAddress(context, options);
  await refuseOlderStore(address);
  try {
    const blobDirectory = blobFolder(context, options);
    return { ...(await openRestoreTarget(address, { blobDirectory })), name };
  } catch (error) {
    if (!isStorageError(error, "STORAGE_LOCKED")) throw storeAccessError(address, error);
    throw storeLockedError(error, "A backup is restored into a store that nothing else uses.", {
      isWhole: true,
    });
  }
}

/** A store that is there, which nothing has opened yet. Refuses what {@link openWholeStore} refuses. */
export async function existingStore(context: CommandContext, options: WholeStoreOptions) {
  const { address, name } = wholeAddress(context, options);
  if (address.kind === "sqlite") {
    const found = await stat(address.directory).catch(() => undefined);
    if (found?.isDirectory() !== true) throw noStore(name);
  }
  return { address, name, blobDirectory: blobFolder(context, options) };
}

/** The address of a store as a whole. Refuses one in memory, and one behind a server. */
export function wholeAddress(
  context: CommandContext,
  options: WholeStoreOptions,
): { readonly address: StoreAddress; readonly name: string } {
  const address = storeAddress(context, options);
  const name = storeName(address);
  if (address.kind === "memory") throw new CommandError("A store in memory ends with its process.");
  if (address.kind !== "remote") return { address, name };
  throw new CommandError(`The store ${name} is behind a server.`, {
    advice:
      "Run the command where the store is, with the address that the server has: its --store. It works beside the running server.",
  });
}

function blobFolder(context: CommandContext, { blobs }: WholeStoreOptions): string {
  return blobs === undefined
    ? join(dataFolder(context), "blobs")
    : resolve(context.directory, blobs);
}
