import { createHash } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import {
  createStackStates,
  exportLine,
  exportState,
  formatStateFile,
  type NamedStack,
  type StackReference,
} from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import type { StateVersion } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { findStackTool, isOutside } from "../queue/stack-tool.ts";
import { idOf } from "../queue/transaction.ts";
import { readStateContent, type StateContentParts } from "./state-content.ts";
import { findCurrentVersion } from "./state-versions.ts";

export interface ServedParts extends StateContentParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
}

/** The state of a stack as a file of version 4. */
export interface ServedState {
  readonly serial: bigint;
  readonly lineage: string;
  readonly terraformVersion: string;
  readonly createdAtMs: number;
  readonly bytes: number;
  /** Of the bytes, in hexadecimal. */
  readonly md5: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * The state of a stack for a terraform or tofu command: the bytes that one stored, or what the engine has, in the same form.
 * Undefined where there is none. `conflict` while operations of the engine are open, as that form cannot represent them;
 * `key_unavailable`.
 */
export async function serveState(
  parts: ServedParts,
  stack: NamedStack,
): Promise<ServedState | undefined> {
  const { storage } = parts;
  const { reference, adoption } = stack;
  const head = await readStored(storage, "strong", idOf(STACK_HEAD_KIND, stackPlace(reference)));
  const isHandedBack = adoption?.kind === "state" && adoption.handedBack;
  const tool = await findStackTool(storage, reference);
  if (head === undefined || isHandedBack || isOutside(tool)) {
    const version = await findCurrentVersion(storage, reference);
    if (version !== undefined) {
      return servedVersion(parts, reference, version);
    }
  }
  return head === undefined || isOutside(tool) ? undefined : exported(parts, stack);
}

/** A version that a command stored. */
export function servedVersion(
  parts: ServedParts,
  stack: StackReference,
  version: StateVersion,
): ServedState {
  const { serial, lineage, terraformVersion, md5 } = version;
  return {
    serial,
    lineage,
    terraformVersion,
    createdAtMs: Number(version.createdAtMs),
    bytes: Number(version.bytes),
    md5,
    content: readStateContent(parts, stack, version),
  };
}

async function exported(parts: ServedParts, stack: NamedStack): Promise<ServedState> {
  const { storage, blobs, keys, clock } = parts;
  // Reading needs no lease, so that nothing is written with this name.
  const states = createStackStates({
    storage,
    blobs,
    ciphers: keys,
    owner: "state-api",
    scheduler: clock,
  });
  const snapshot = await states.stack(stack.reference).read();
  let state: ReturnType<typeof exportState>;
  try {
    state = exportState(stack.reference, snapshot, exportLine(stack, snapshot));
  } catch (error) {
    if (!isEngineError(error, "ENGINE_SURGERY_INVALID")) throw error;
    throw new ServerError(
      "conflict",
      `operations of the stack are open; read its state once its run has ended (${error.message})`,
      { cause: error },
    );
  }
  const bytes = Buffer.from(formatStateFile(state));
  const md5 = createHash("md5").update(bytes).digest("hex");
  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    yield bytes;
  }
  const { serial, lineage, terraformVersion } = state;
  const createdAtMs = clock.wallMs();
  return {
    serial,
    lineage,
    terraformVersion,
    createdAtMs,
    bytes: bytes.byteLength,
    md5,
    content: content(),
  };
}
