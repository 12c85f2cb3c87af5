import { type StoreAddress, storeName } from "@stackwright/core";
import { isStorageError, type StorageError } from "@stackwright/storage";
import { CommandError } from "../command-error.ts";

/** Why a store does not open, for the user who named it; the error itself where there is no better text. */
export function storeAccessError(address: StoreAddress, error: unknown): unknown {
  if (address.kind === "sqlite") return error;
  if (isStorageError(error, "STORAGE_INCONSISTENT")) return unreachable(address, error);
  if (isStorageError(error, "STORAGE_PERMISSION_DENIED")) return forbidden(address, error);
  return error;
}

function unreachable(address: StoreAddress, error: Error): CommandError {
  const what = address.kind === "remote" ? "a server (stackwright serve)" : "the server";
  return new CommandError(`The store ${storeName(address)} cannot be used: ${error.message}`, {
    cause: error,
    advice: `Look whether ${what} runs there; the address is that of --store or STACKWRIGHT_STORE.`,
  });
}

function forbidden(address: StoreAddress, error: Error): CommandError {
  return new CommandError(`The store ${storeName(address)} cannot be used: ${error.message}.`, {
    cause: error,
    advice:
      address.kind === "remote"
        ? "STACKWRIGHT_TOKEN is the token for this server: one with the role worker and storage_scopes for the project. An admin of the account makes it: see `stackwright admin bootstrap --help`."
        : "The user and the password are in the address of --store or STACKWRIGHT_STORE.",
  });
}

/** Who writes to an embedded store. */
export function lockHolder({ details: { holder } }: StorageError): string {
  return holder === undefined
    ? "another process"
    : `process ${holder.pid} on ${holder.host} (since ${holder.since})`;
}

/**
 * An embedded store that another process writes to.
 *
 * @param first what is to be done in the first place
 * @param isWhole whether all of the store is meant, which no server gives out
 */
export function storeLockedError(
  error: StorageError,
  first: string,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): CommandError {
  const through = isWhole
    ? ""
    : ", or use the store through it: start it with --storage-port PORT, and name the store stackwright://HOST:PORT, with STACKWRIGHT_TOKEN";
  return new CommandError(`The store is in use: ${lockHolder(error)} writes to it.`, {
    cause: error,
    advice: `${first} If it is a server (stackwright serve), end it${through}.`,
  });
}
