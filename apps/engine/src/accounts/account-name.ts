import { checkAccount, isStorageError } from "@stackwright/storage";

/** Whether an account can have a name: that of the server itself is reserved. */
export function isAccountName(account: string): boolean {
  try {
    checkAccount(account);
    return true;
  } catch (error) {
    if (!isStorageError(error, "STORAGE_INVALID_ARGUMENT")) throw error;
    return false;
  }
}
