import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { exportState, formatStateFile, type StackOrigin, type StackState } from "@stackwright/core";
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

/**
 * Writes the state of a stack to the backend that it was adopted from: with the lineage of the adopted state, a larger serial
 * than it has, and under its lock. A lock that the adoption kept there is used.
 */
export async function writeBack(
  state: StackState,
  origin: Extract<StackOrigin, { kind: "state" }>,
  backend: StateBackend,
  operation: string,
  call: BackendCall = {},
): Promise<WrittenBack> {
  const { workspace } = origin;
  const snapshot = await state.read();
  const line = exportLine({ adoption: origin }, snapshot);
  const file = exportState(state.reference, snapshot, line);
  const bytes = Buffer.from(formatStateFile(file));
  const held = await lockOrKept(backend, workspace, origin.lockId, operation, call);
  try {
    const found = headOf(await backend.read(workspace, call));
    if (found !== undefined && found.lineage !== origin.lineage) {
      throw new CommandError(
        `${backend.place(workspace)} has another state: lineage ${found.lineage} instead of ${origin.lineage}.`,
      );
    }
    if (found !== undefined && found.serial > file.serial) {
      throw new CommandError(
        `${backend.place(workspace)} has the serial ${found.serial}, and the stack would write ${file.serial}: another command wrote it.`,
      );
    }
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
): { readonly lineage: string; readonly serial: bigint } | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined;
  const { lineage, serial } = JSON.parse(Buffer.from(bytes).toString("utf8")) as {
    readonly lineage?: unknown;
    readonly serial?: unknown;
  };
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
