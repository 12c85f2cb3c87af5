import type { NamedStack, StackReference } from "@stackwright/core";
import { type KeptState, StateVersion } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, stackPlace, stateVersionPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { requireKeptState } from "../queue/state-owner.ts";
import {
  idOf,
  type Row,
  type StoredRow,
  type Transaction,
  type TransactionParts,
  transact,
} from "../queue/transaction.ts";
import type { StateContent } from "./state-content.ts";
import { requireLock } from "./state-lock.ts";

// Invariants of a kept state: its versions have the numbers `last - KEPT_VERSIONS + 1` to `last`, all from 1 on where there
// are fewer; `current` is one of them or 0. Each transaction that changes a version writes the one record `KeptState`, so
// that of two at once one begins again and decides by what the other wrote.

/** Versions that a stack keeps: the newest. */
const KEPT_VERSIONS = 100;

/** A version to be added. */
interface NewStateVersion {
  readonly stack: NamedStack;
  readonly actor: string;
  readonly content: StateContent;
  /** ID of the lock that the writer has. */
  readonly lockId: string | undefined;
  /** Accepts any serial and lineage, under a lock. @default false */
  readonly force?: boolean;
}

/**
 * Adds the state that a command stored, as the present version. The same bytes with the same serial again are the version that exists:
 * a request whose first answer was lost.
 *
 * `state_conflict` for an older serial, for other bytes with the same one, for another lineage without a lock, and where the lock was
 * broken; `LockHeldError`; `engine_state`.
 */
export async function addStateVersion(
  parts: TransactionParts,
  { stack, actor, content, lockId, force = false }: NewStateVersion,
): Promise<StateVersion> {
  return transact(parts, async (tx) => {
    await requireKeptState(tx, { stack: stack.reference, name: stack.name });
    const lock = await requireLock(tx, stack.reference, lockId);
    const kept = await readKeptState(tx, stack.reference);
    const current = await currentVersion(tx, stack.reference, kept.message);
    if (current !== undefined && isSame(current, content)) return current;
    const isForced = force && lock !== undefined;
    const replaces =
      current === undefined || isForced ? current : requireNext(current, content, lock);
    return appendVersion(tx, stack.reference, kept, {
      ...content,
      actor,
      operation: lock?.terraform?.operation ?? "",
      who: lock?.terraform?.who ?? "",
      restoredFrom: 0n,
      replaced: replaces?.number ?? 0n,
      lineageChanged: replaces !== undefined && replaces.lineage !== content.lineage,
    });
  });
}

/** Adds what restores an older version; `changed` where another version than `current` is the present one by now. */
export async function addRestoredVersion(
  parts: TransactionParts,
  {
    stack,
    actor,
    content,
    version,
    current: expected,
  }: Omit<NewStateVersion, "lockId"> & {
    /** Number of what is restored. */
    readonly version: bigint;
    /** Number of the present version, as the content was made for. */
    readonly current: bigint;
  },
): Promise<StateVersion> {
  return transact(parts, async (tx) => {
    await requireKeptState(tx, { stack: stack.reference, name: stack.name });
    await requireLock(tx, stack.reference, undefined);
    const kept = await readKeptState(tx, stack.reference);
    if (kept.message.current !== expected) throw new ServerError("changed");
    const replaces = await currentVersion(tx, stack.reference, kept.message);
    return appendVersion(tx, stack.reference, kept, {
      ...content,
      actor,
      operation: "",
      who: "",
      restoredFrom: version,
      replaced: replaces?.number ?? 0n,
      lineageChanged: replaces !== undefined && replaces.lineage !== content.lineage,
    });
  });
}

/** Leaves a stack without a present version; the versions stay. */
export async function deleteState(
  parts: TransactionParts,
  { stack, lockId }: Pick<NewStateVersion, "stack" | "lockId">,
): Promise<void> {
  await transact(parts, async (tx) => {
    await requireKeptState(tx, { stack: stack.reference, name: stack.name });
    await requireLock(tx, stack.reference, lockId);
    const kept = await tx.find(SERVER_KINDS.keptState, stackPlace(stack.reference));
    if (kept === undefined || kept.message.current === 0n) return;
    tx.update(kept, { current: 0n });
  });
}

/** The present version of a stack; undefined where there is none. */
export async function findCurrentVersion(
  storage: StorageBackend,
  stack: StackReference,
): Promise<StateVersion | undefined> {
  const kept = await findKeptState(storage, stack);
  if (kept === undefined || kept.current === 0n) return undefined;
  return findStateVersion(storage, stack, kept.current);
}

export async function findKeptState(
  storage: StorageBackend,
  stack: StackReference,
): Promise<KeptState | undefined> {
  const found = await readStored(
    storage,
    "strong",
    idOf(SERVER_KINDS.keptState, stackPlace(stack)),
  );
  return found && decodeRecord(SERVER_KINDS.keptState, found);
}

export async function findStateVersion(
  storage: StorageBackend,
  stack: StackReference,
  version: bigint,
): Promise<StateVersion | undefined> {
  const id = idOf(SERVER_KINDS.stateVersion, stateVersionPlace(stack, version));
  const found = await readStored(storage, "strong", id);
  return found && decodeRecord(SERVER_KINDS.stateVersion, found);
}

/** All versions that are kept, the newest first. */
export async function listStateVersions(
  storage: StorageBackend,
  stack: StackReference,
): Promise<readonly StateVersion[]> {
  const { tenancy, name: prefix } = memberPlace(stack, "");
  const { type } = SERVER_KINDS.stateVersion;
  const found = await storage.list("strong", type, tenancy, prefix);
  return found
    .map((resource) => decodeRecord(SERVER_KINDS.stateVersion, resource))
    .toSorted((a, b) => (a.number < b.number ? 1 : -1));
}

export async function readKeptState(
  tx: Transaction,
  stack: StackReference,
): Promise<Row<KeptState>> {
  return tx.findOrNew(SERVER_KINDS.keptState, stackPlace(stack), () => ({ current: 0n, last: 0n }));
}

async function currentVersion(
  tx: Transaction,
  stack: StackReference,
  kept: KeptState,
): Promise<StateVersion | undefined> {
  return (await currentVersionOf(tx, stack, kept))?.message;
}

/** The present version as a row of a transaction; undefined where there is none. */
export async function currentVersionOf(
  tx: Transaction,
  stack: StackReference,
  { current }: KeptState,
): Promise<StoredRow<StateVersion> | undefined> {
  if (current === 0n) return undefined;
  return tx.get(SERVER_KINDS.stateVersion, stateVersionPlace(stack, current));
}

function isSame(one: StateContent, other: StateContent): boolean {
  return one.serial === other.serial && one.md5 === other.md5;
}

/** The version that a state replaces. Another lineage is what `state push -force` writes, which a command does under its lock. */
function requireNext(current: StateVersion, next: StateContent, lock: unknown): StateVersion {
  if (next.lineage !== current.lineage && lock === undefined) {
    throw new ServerError(
      "state_conflict",
      `the state has the lineage "${next.lineage}", and that of the stack has "${current.lineage}": it is another one. Configure lock_address, and force the command`,
    );
  }
  if (next.serial > current.serial) return current;
  throw notFollowing(current, next);
}

/** `state_conflict` for a state that does not follow the present one by its serial; the same one may come again. */
export function requireFollowing(
  current: StateVersion,
  next: Pick<StateContent, "serial" | "md5">,
): void {
  const isSameState = next.serial === current.serial && next.md5 === current.md5;
  if (next.serial <= current.serial && !isSameState) throw notFollowing(current, next);
}

function notFollowing(current: StateVersion, next: Pick<StateContent, "serial">): ServerError {
  return new ServerError(
    "state_conflict",
    next.serial === current.serial
      ? `the state of the stack has the serial ${current.serial} with another content: another command has written it`
      : `the state has the serial ${next.serial}, and that of the stack has ${current.serial} already: raise the serial of the state above it`,
  );
}

/** Adds a version after all others, as the present one. */
export async function appendVersion(
  tx: Transaction,
  stack: StackReference,
  kept: Row<KeptState>,
  given: Omit<StateVersion, "number" | "createdAtMs">,
): Promise<StateVersion> {
  const number = kept.message.last + 1n;
  const version = StateVersion.create({ ...given, number, createdAtMs: BigInt(tx.nowMs) });
  tx.create(SERVER_KINDS.stateVersion, stateVersionPlace(stack, number), version);
  tx.update(kept, { current: number, last: number });
  const oldest = number - BigInt(KEPT_VERSIONS);
  const surplus =
    oldest < 1n
      ? undefined
      : await tx.find(SERVER_KINDS.stateVersion, stateVersionPlace(stack, oldest));
  if (surplus !== undefined) tx.remove(surplus);
  return version;
}
