import type { NamedStack, StackReference } from "@stackwright/core";
import type { StateVersion } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { readStateContent, type StateContentParts, storeStateContent } from "./state-content.ts";
import { addRestoredVersion, findKeptState, findStateVersion } from "./state-versions.ts";

interface RestoreParts extends TransactionParts, StateContentParts {}

interface Restore {
  readonly stack: NamedStack;
  readonly version: bigint;
  readonly actor: string;
  readonly signal: AbortSignal;
}

/**
 * Makes an older version the present one: as a new version, whose bytes are those of the old one but for the serial. That is the next
 * one, so that a saved plan made of what is replaced does not fit the restored state.
 *
 * `not_found` for a version that is not kept, `stack_locked`, `changed` where a command wrote the state meanwhile, `engine_state`.
 */
export async function restoreStateVersion(
  parts: RestoreParts,
  { stack, version: number, actor, signal }: Restore,
): Promise<StateVersion> {
  const { storage } = parts;
  const { reference } = stack;
  const kept = await findKeptState(storage, reference);
  const version = await findStateVersion(storage, reference, number);
  // The newest has the highest serial, also where the state was deleted.
  const newest = kept && (await findStateVersion(storage, reference, kept.last));
  if (kept === undefined || version === undefined || newest === undefined) {
    throw new ServerError("not_found", `the stack has no state version ${number}`);
  }
  const serial = (newest.serial > version.serial ? newest.serial : version.serial) + 1n;
  if (serial >= 2n ** 64n) {
    throw new ServerError("unprocessable", "the state has the highest possible serial");
  }
  const content = await storeStateContent(parts, {
    stack: reference,
    content: withSerial(parts, reference, version, serial),
    signal,
  });
  const { current } = kept;
  return addRestoredVersion(parts, { stack, actor, content, version: number, current });
}

async function* withSerial(
  parts: Pick<StateContentParts, "blobs" | "keys">,
  stack: StackReference,
  version: StateVersion,
  serial: bigint,
): AsyncGenerator<Uint8Array, void, undefined> {
  const from = Number(version.serialOffset);
  const to = from + String(version.serial).length;
  let at = 0;
  for await (const chunk of readStateContent(parts, stack, version)) {
    const end = at + chunk.byteLength;
    if (at < from) yield chunk.subarray(0, Math.min(chunk.byteLength, from - at));
    if (at <= from && from < end) yield Buffer.from(String(serial));
    if (end > to) yield chunk.subarray(Math.max(0, to - at));
    at = end;
  }
}
