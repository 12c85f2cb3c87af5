import type { StackReference } from "@stackwright/core";
import type { DriftIgnore } from "@stackwright/proto/stackwright";
import { allDriftOf, type IgnoredPlace, MAX_IGNORES } from "../domain/drift-ignore.ts";
import { stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { recordCount } from "./count-drift.ts";
import { readDrift } from "./drift-record.ts";
import { noteEvent } from "./note-event.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/** Why a user lets differences be, and for how long. */
interface IgnoreTerms extends Pick<DriftIgnore, "reason" | "actor"> {
  readonly forMs: number;
}

/** Ignores the drift of objects or of attributes from now on, all of them or none. A former ignore of the same is replaced. */
export async function ignoreDrift(
  parts: TransactionParts,
  { stack, stackName }: { readonly stack: StackReference; readonly stackName: string },
  given: readonly IgnoredPlace[],
  { forMs, reason, actor }: IgnoreTerms,
): Promise<readonly DriftIgnore[]> {
  const places = new Map(given.map((one) => [keyOf(one), one]));
  return transact(parts, async (tx) => {
    const row = await readDrift(tx, stack, stackName);
    const others = row.message.ignores.filter(
      (one) => Number(one.untilMs) > tx.nowMs && !places.has(keyOf(one)),
    );
    const room = MAX_IGNORES - others.length;
    if (places.size > room) {
      const why =
        places.size === 1
          ? "end one of them before"
          : `${places.size} are asked for, and there is room for ${room}`;
      throw new ServerError(
        "unprocessable",
        `a stack ignores at most ${MAX_IGNORES} differences; ${why}`,
      );
    }
    const made = [...places.values()].map(
      ({ address, attribute }): DriftIgnore => ({
        address,
        attribute,
        reason,
        actor,
        id: tx.makeId(),
        atMs: BigInt(tx.nowMs),
        untilMs: BigInt(tx.nowMs + forMs),
      }),
    );
    tx.update(row, { stackName });
    recordCount(tx, row, allDriftOf(row.message), [...others, ...made]);
    return made;
  });
}

function keyOf({ address, attribute }: IgnoredPlace): string {
  return JSON.stringify([address, attribute]);
}

/** Ends an ignore: what it was of counts again. */
export async function endIgnore(
  parts: TransactionParts,
  stack: StackReference,
  id: string,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.find(SERVER_KINDS.drift, stackPlace(stack));
    const left = row?.message.ignores.filter((one) => one.id !== id) ?? [];
    if (row === undefined || left.length === row.message.ignores.length) {
      throw new ServerError("not_found", `the stack ignores nothing under "${id.slice(0, 64)}"`);
    }
    recordCount(tx, row, allDriftOf(row.message), left);
  });
}

/** Ends the ignores of a stack whose time is over. What counts again is reported, as no request asked for it. */
export async function endPastIgnores(
  parts: TransactionParts,
  stack: StackReference,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.find(SERVER_KINDS.drift, stackPlace(stack));
    if (row === undefined) return;
    if (row.message.ignores.every(({ untilMs }) => Number(untilMs) > tx.nowMs)) return;
    const { isDrifted, isSame, drifted, ignored } = recordCount(tx, row, allDriftOf(row.message));
    if (isDrifted && !isSame)
      await noteEvent(tx, { event: "drift.found", stack, drifted, ignored });
  });
}
