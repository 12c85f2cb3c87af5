import type { Freeze } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { type FreezeTarget, freezePlace, isThawed } from "../../queue/freeze.ts";
import { idOf } from "../../queue/transaction.ts";
import type { ApiParts } from "../api-parts.ts";

export const FreezeView = Type.Object(
  {
    actor: Type.String(),
    reason: Type.String(),
    at: Type.String(),
    until: Type.Optional(Type.String()),
  },
  { title: "Freeze" },
);

export function freezeViewOf({ actor, reason, atMs, untilMs }: Freeze): Static<typeof FreezeView> {
  return {
    actor,
    reason,
    at: new Date(Number(atMs)).toISOString(),
    ...(untilMs !== 0n && { until: new Date(Number(untilMs)).toISOString() }),
  };
}

/** The freeze of a project or a stack; undefined where there is none, or it has ended. */
export async function readFreeze(
  { storage, clock }: Pick<ApiParts, "storage" | "clock">,
  target: FreezeTarget,
): Promise<Static<typeof FreezeView> | undefined> {
  const place = freezePlace(target);
  const found = await readStored(storage, "strong", idOf(SERVER_KINDS.freeze, place));
  const message = found && decodeRecord(SERVER_KINDS.freeze, found);
  if (message === undefined || isThawed(message, clock.wallMs())) return undefined;
  return freezeViewOf(message);
}
