import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  exportedSerial,
  exportState,
  formatStateFile,
  type StackOrigin,
  type StackState,
  type StateMirrorRecord,
} from "@stackwright/core";
import { TfstateError } from "@stackwright/tfstate";
import {
  type BackendCall,
  type LockRecord,
  lockIdOf,
  type StateBackend,
} from "@stackwright/tfstate/backend";
import { CommandError } from "../command-error.ts";
import { commandVersion } from "../command-version.ts";
import { exportLine } from "./export-line.ts";

/** What was written to the old backend. */
interface WrittenBack {
  readonly revision: bigint;
  readonly serial: bigint;
}

type Origin = Extract<StackOrigin, { kind: "state" }>;

/** What writing back needs. The caller has the lock of the stack. */
interface WriteBack {
  readonly state: StackState;
  readonly origin: Origin;
  readonly backend: StateBackend;
  /** What the lock of the backend says. */
  readonly operation: string;
  /** Records what is about to be written, so that it is recognised after an interruption. */
  readonly announce: (mirror: StateMirrorRecord) => Promise<void>;
}

/**
 * Writes the state of a stack to the backend that it was adopted from: with the lineage of the adopted state, a larger serial
 * than it has, and under its lock. A lock that the adoption kept there is used. It replaces only what was adopted or what the
 * stack wrote before: a state that another command has written since is refused.
 */
export async function writeBack(
  { state, origin, backend, operation, announce }: WriteBack,
  call: BackendCall = {},
): Promise<WrittenBack> {
  const { workspace, mirror } = origin;
  requirePlace(origin, backend);
  const snapshot = await state.read();
  const line = exportLine({ adoption: origin }, snapshot);
  const file = exportState(state.reference, snapshot, line);
  const bytes = Buffer.from(formatStateFile(file));
  const held = await lockOrKept(backend, workspace, origin.lockId, operation, call);
  try {
    const before = await backend.read(workspace, call);
    if (before !== undefined && bytes.equals(before)) {
      return { revision: snapshot.head.revision, serial: file.serial };
    }
    const found = headOf(before, backend.place(workspace));
    if (found !== undefined) requireOwn(found, origin, backend.place(workspace));
    const revision = found === undefined ? mirror.revision : found.serial - origin.serial;
    await announce({ ...mirror, revision, serial: file.serial });
    await backend.write(workspace, bytes, { ...call, lockId: held.id });
    const read = await backend.read(workspace, call);
    if (read === undefined || !Buffer.from(read).equals(bytes)) {
      throw new CommandError(
        `${backend.place(workspace)} does not have the state that was written.`,
      );
    }
  } finally {
    await held.release();
  }
  return { revision: snapshot.head.revision, serial: file.serial };
}

/** A backend block that was changed since leads to another place, whose state is not this one. */
function requirePlace({ backend: type, place, workspace }: Origin, backend: StateBackend): void {
  if (backend.type === type && backend.place(workspace) === place) return;
  throw new CommandError(
    `The state was adopted from ${place}, and the configuration leads to ${backend.place(workspace)}.`,
    {
      advice:
        "Restore the backend block, or pass the arguments of the adoption with -backend-config or --pull.",
    },
  );
}

/** The state that was adopted, what was confirmed as written, or what an interrupted command wrote. */
function requireOwn(
  found: { readonly lineage: string; readonly serial: bigint },
  origin: Origin,
  place: string,
): void {
  if (found.lineage !== origin.lineage) {
    throw new CommandError(
      `${place} has another state: lineage ${found.lineage} instead of ${origin.lineage}.`,
    );
  }
  const { mirror } = origin;
  const confirmed = exportedSerial(origin, mirror.revision);
  if (found.serial === confirmed || found.serial === mirror.serial) return;
  throw new CommandError(
    `${place} has the serial ${found.serial}, and the stack left it with ${confirmed}: another command wrote it.`,
    {
      advice:
        "Compare the two states: stackwright export-state writes that of the stack. What the other command made is not in it.",
    },
  );
}

async function lockOrKept(
  backend: StateBackend,
  workspace: string,
  lockId: string,
  operation: string,
  call: BackendCall,
): Promise<{ readonly id: string; readonly release: () => Promise<void> }> {
  try {
    const held = await backend.lock(workspace, lockRecord(operation), call);
    return { id: held.id, release: async () => held.release() };
  } catch (error) {
    const isOurs =
      error instanceof TfstateError &&
      error.code === "TFSTATE_BACKEND_LOCKED" &&
      lockId !== "" &&
      lockIdOf(error.lock ?? "") === lockId;
    if (!isOurs) throw error;
    return { id: lockId, release: async () => undefined };
  }
}

/** Lineage and serial of a stored state, or of the marker that an adoption left. */
function headOf(
  bytes: Uint8Array | undefined,
  place: string,
): { readonly lineage: string; readonly serial: bigint } | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined;
  let file: { readonly lineage?: unknown; readonly serial?: unknown } | null;
  try {
    file = JSON.parse(Buffer.from(bytes).toString("utf8")) as typeof file;
  } catch (error) {
    throw new CommandError(`${place} does not have a valid state.`, { cause: error });
  }
  const { lineage, serial } = file ?? {};
  return {
    lineage: typeof lineage === "string" ? lineage : "",
    serial: typeof serial === "number" ? BigInt(serial) : 0n,
  };
}

/** The record that other commands show of a lock of this command. */
export function lockRecord(operation: string): LockRecord {
  return {
    ID: randomUUID(),
    Operation: operation,
    Info: `process ${process.pid}`,
    Who: `${process.env["USER"] ?? "stackwright"}@${hostname()}`,
    Version: commandVersion(),
    Created: new Date().toISOString(),
    Path: "",
  };
}
