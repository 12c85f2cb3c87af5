import { TfstateError } from "../errors.ts";
import { foreignText } from "./foreign-text.ts";
import type { LockRecord } from "./state-backend.ts";

/** The JSON text of a lock record, as all backends store it. */
export function lockText(record: LockRecord): string {
  return JSON.stringify(record);
}

/** The lock's ID of a stored record; empty where the text is not one. */
export function lockIdOf(text: string): string {
  try {
    const { ID } = JSON.parse(text) as { readonly ID?: unknown };
    return typeof ID === "string" ? ID : "";
  } catch {
    return "";
  }
}

/** What a stored record says that its lock is for; empty where the text is not a record. */
export function lockOperationOf(text: string): string {
  try {
    const { Operation } = JSON.parse(text) as { readonly Operation?: unknown };
    return typeof Operation === "string" ? Operation : "";
  } catch {
    return "";
  }
}

/**
 * Whether the holder of a lock is this very request: it was repeated after its answer was lost, and finds the lock that it has
 * acquired.
 */
export function isOwnLock(holder: string | undefined, { ID }: LockRecord): boolean {
  return holder !== undefined && ID !== "" && lockIdOf(holder) === ID;
}

/** One line for the user: who holds a lock, for what, since when. */
export function describeLock(text: string): string {
  let record: Partial<Record<keyof LockRecord, unknown>>;
  try {
    record = JSON.parse(text) as typeof record;
  } catch {
    return "its record is not readable";
  }
  const named: readonly (readonly [string, unknown])[] = [
    ["ID", record.ID],
    ["held by", record.Who],
    ["for", record.Operation],
    ["since", record.Created],
    ["", record.Info],
  ];
  const parts = named.flatMap(([name, value]) =>
    typeof value === "string" && value !== "" ? [`${name} ${foreignText(value)}`.trim()] : [],
  );
  return parts.join(", ");
}

/**
 * `TFSTATE_BACKEND_LOCKED` with the record of the holder.
 *
 * @param unlockArgument what `terraform force-unlock` takes, where that is not the ID of the record
 */
export function lockedError(
  place: string,
  lock: string | undefined,
  unlockArgument?: string,
): TfstateError {
  const holder = lock === undefined || lock === "" ? "" : `: ${describeLock(lock)}`;
  const argument =
    unlockArgument === undefined ? "" : `, for "terraform force-unlock ${unlockArgument}"`;
  const message = `${place}: the state is locked${holder}${argument}`;
  return new TfstateError("TFSTATE_BACKEND_LOCKED", message, { lock });
}
