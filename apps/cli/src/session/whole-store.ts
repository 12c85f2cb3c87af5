import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type OpenStore, openStore, storeName } from "@stackwright/core";
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
interface WholeStore extends AsyncDisposable {
  readonly opened: OpenStore;
  /** Address of the store, without credentials. */
  readonly name: string;
}

/**
 * Opens a store as a whole, for reading beside a process that writes to it, or as the one that writes. A store behind a server
 * is refused: its blobs and its revisions are known there.
 */
export async function openWholeStore(
  context: CommandContext,
  options: WholeStoreOptions,
  access: "read" | "write",
): Promise<WholeStore> {
  const address = storeAddress(context, options);
  const name = storeName(address);
  if (address.kind === "memory") throw new CommandError("A store in memory ends with its process.");
  if (address.kind === "remote") {
    throw new CommandError(`The store ${name} is behind a server.`, {
      advice:
        "Run the command where the store is, with the address that the server has: its --store. It works beside the running server.",
    });
  }
  if (access === "read" && address.kind === "sqlite") {
    const found = await stat(address.directory).catch(() => undefined);
    if (found?.isDirectory() !== true) {
      throw new CommandError(`There is no store at ${name}.`, {
        advice: "The address is that of --store or STACKWRIGHT_STORE.",
      });
    }
  }
  try {
    const opened = await openStore(address, {
      readOnly: access === "read",
      blobDirectory:
        options.blobs === undefined
          ? join(dataFolder(context), "blobs")
          : resolve(context.directory, options.blobs),
    });
    return { opened, name, [Symbol.asyncDispose]: async () => opened[Symbol.asyncDispose]() };
  } catch (error) {
    if (!isStorageError(error, "STORAGE_LOCKED")) throw storeAccessError(address, error);
    throw storeLockedError(error, "A backup is restored into a store that nothing else uses.");
  }
}
