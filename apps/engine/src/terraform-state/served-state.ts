import { createHash } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import {
  createStackStates,
  exportLine,
  exportState,
  formatStateFile,
  type NamedStack,
} from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { idOf } from "../queue/transaction.ts";
import { readStateContent, type StateContentParts } from "./state-content.ts";
import { findCurrentVersion } from "./state-versions.ts";

interface ServedParts extends StateContentParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
}

/** The state of a stack as a file of version 4. */
interface ServedState {
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
  if (head === undefined || isHandedBack) {
    const version = await findCurrentVersion(storage, reference);
    if (version !== undefined) {
      const content = readStateContent(parts, reference, version);
      return { bytes: Number(version.bytes), md5: version.md5, content };
    }
  }
  return head === undefined ? undefined : exported(parts, stack);
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
  let text: string;
  try {
    text = formatStateFile(exportState(stack.reference, snapshot, exportLine(stack, snapshot)));
  } catch (error) {
    if (!isEngineError(error, "ENGINE_SURGERY_INVALID")) throw error;
    throw new ServerError(
      "conflict",
      `operations of the stack are open; read its state once its run has ended (${error.message})`,
      { cause: error },
    );
  }
  const bytes = Buffer.from(text);
  const md5 = createHash("md5").update(bytes).digest("hex");
  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    yield bytes;
  }
  return { bytes: bytes.byteLength, md5, content: content() };
}
