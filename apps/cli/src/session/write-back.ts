import { createHash, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  exportedSerial,
  exportLine,
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
import { MARKER_VERSION } from "./adoption-marker.ts";

/** What was written to the old backend. */
type WrittenBack = Pick<StateMirrorRecord, "revision" | "serial" | "sha256" | "previousSha256">;

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
  const held = await acquireOrResumeLock(backend, workspace, origin.lockId, operation, call);
  try {
    const before = await backend.read(workspace, call);
    const written = {
      serial: file.serial,
      sha256: sha256(bytes),
      previousSha256: before === undefined ? "" : sha256(before),
    };
    if (before === undefined || !bytes.equals(before)) {
      const place = backend.place(workspace);
      const found = headOf(before, place);
      if (found !== undefined) requireOwn(found, origin, file.lineage, place);
      const revision = found === undefined ? mirror.revision : found.serial - origin.serial;
      await announce({ ...mirror, revision, ...written });
      await backend.write(workspace, bytes, { ...call, lockId: held.id });
      const read = await backend.read(workspace, call);
      if (read === undefined || !Buffer.from(read).equals(bytes)) {
        throw new CommandError(`${place} does not have the state that was written.`);
      }
    }
    return { ...written, revision: snapshot.head.revision };
  } finally {
    await held.release();
  }
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

/** The state that was adopted, its marker, what was confirmed as written, or what an interrupted command wrote. */
function requireOwn(found: FoundHead, origin: Origin, ownLineage: string, place: string): void {
  const { mirror } = origin;
  // A state without a lineage continues with that of the stack.
  const lineages = origin.lineage === "" ? ["", ownLineage] : [origin.lineage];
  if (!lineages.includes(found.lineage)) {
    throw new CommandError(
      `${place} has another state: lineage "${found.lineage}" instead of "${origin.lineage}".`,
    );
  }
  const confirmed = exportedSerial(origin, mirror.revision);
  if (found.serial !== confirmed && found.serial !== mirror.serial) {
    throw new CommandError(
      `${place} has the serial ${found.serial}, and the stack left it with ${confirmed}: another command wrote it.`,
      { advice: COMPARE },
    );
  }
  if (found.isMarker) return;
  // Another command that was not locked out counts the serial up as the stack does.
  const own = [mirror.sha256, mirror.previousSha256].filter((digest) => digest !== "");
  if (found.serial === origin.serial) own.push(origin.sha256);
  if (own.length > 0 && !own.includes(found.sha256)) {
    throw new CommandError(
      `${place} has the serial ${found.serial} of the stack with another content: another command wrote it.`,
      { advice: COMPARE },
    );
  }
}

const COMPARE =
  "Compare the two states: stackwright export-state writes that of the stack. What the other command made is not in it.";

async function acquireOrResumeLock(
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

/** A stored state, or the marker that an adoption left, as far as it matters for whose it is. */
interface FoundHead {
  readonly lineage: string;
  readonly serial: bigint;
  readonly sha256: string;
  readonly isMarker: boolean;
}

function headOf(bytes: Uint8Array | undefined, place: string): FoundHead | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined;
  let file: {
    readonly version?: unknown;
    readonly lineage?: unknown;
    readonly serial?: unknown;
  } | null;
  try {
    file = JSON.parse(Buffer.from(bytes).toString("utf8")) as typeof file;
  } catch (error) {
    throw new CommandError(`${place} does not have a valid state.`, { cause: error });
  }
  const { version, lineage, serial } = file ?? {};
  return {
    lineage: typeof lineage === "string" ? lineage : "",
    serial: Number.isSafeInteger(serial) ? BigInt(serial as number) : 0n,
    sha256: sha256(bytes),
    isMarker: version === MARKER_VERSION,
  };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
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
