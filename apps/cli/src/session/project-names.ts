import type { ProjectReference } from "@stackwright/core";
import { checkAccount, checkProject, isStorageError } from "@stackwright/storage";
import { CommandError } from "../command-error.ts";

/** The account and project that a command works in, checked before anything is opened. */
export function checkedProject({ account, project }: ProjectReference): ProjectReference {
  check(
    () => checkAccount(account),
    "STACKWRIGHT_ACCOUNT names the account; without it it is default.",
  );
  check(
    () => checkProject(project),
    "--project or STACKWRIGHT_PROJECT names the project; without them it is default.",
  );
  return { account, project };
}

function check(judge: () => void, advice: string): void {
  try {
    judge();
  } catch (error) {
    if (!isStorageError(error, "STORAGE_INVALID_ARGUMENT")) throw error;
    throw new CommandError(`${error.message}.`, { cause: error, advice });
  }
}
