import type { StackReference } from "@stackwright/core";
import type { StackLock } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { stackPlace } from "../../domain/run-places.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { isOver } from "../../queue/stack-lock.ts";
import { idOf } from "../../queue/transaction.ts";
import type { ApiParts } from "../api-parts.ts";

export const LockView = Type.Object(
  {
    actor: Type.String(),
    reason: Type.String(),
    at: Type.String(),
    until: Type.Optional(Type.String()),
  },
  { title: "StackLock" },
);

export function lockViewOf({ actor, reason, atMs, untilMs }: StackLock): Static<typeof LockView> {
  return {
    actor,
    reason,
    at: new Date(Number(atMs)).toISOString(),
    ...(untilMs !== 0n && { until: new Date(Number(untilMs)).toISOString() }),
  };
}

/** The lock of a stack; undefined where there is none, or it is over. */
export async function readLock(
  { storage, clock }: Pick<ApiParts, "storage" | "clock">,
  stack: StackReference,
): Promise<Static<typeof LockView> | undefined> {
  const found = await readStored(storage, "strong", idOf(SERVER_KINDS.lock, stackPlace(stack)));
  const lock = found && decodeRecord(SERVER_KINDS.lock, found);
  if (lock === undefined || isOver(lock, clock.wallMs())) return undefined;
  return lockViewOf(lock);
}
