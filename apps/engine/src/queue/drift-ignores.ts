import type { StackReference } from "@stackwright/core";
import type { DriftIgnore } from "@stackwright/proto/stackwright";
import { allDriftOf, MAX_IGNORES } from "../domain/drift-ignore.ts";
import { stackPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { recordCount } from "./count-drift.ts";
import { readDrift } from "./drift-record.ts";
import { noteEvent } from "./note-event.ts";
import { type TransactionParts, transact } from "./transaction.ts";

/** What a user lets be. */
interface GivenIgnore extends Pick<DriftIgnore, "address" | "attribute" | "reason" | "actor"> {
  readonly forMs: number;
}

/** Ignores the drift of an object or of one of its attributes from now on. A former ignore of the same is replaced. */
export async function ignoreDrift(
  parts: TransactionParts,
  { stack, stackName }: { readonly stack: StackReference; readonly stackName: string },
  { forMs, ...given }: GivenIgnore,
): Promise<DriftIgnore> {
  return transact(parts, async (tx) => {
    const row = await readDrift(tx, stack, stackName);
    const { ignores } = row.message;
    const others = ignores.filter(
      ({ address, attribute, untilMs }) =>
        Number(untilMs) > tx.nowMs && (address !== given.address || attribute !== given.attribute),
    );
    if (others.length >= MAX_IGNORES) {
      throw new ServerError(
        "unprocessable",
        `a stack ignores at most ${MAX_IGNORES} differences; end one of them before`,
      );
    }
    const made: DriftIgnore = {
      ...given,
      id: tx.makeId(),
      atMs: BigInt(tx.nowMs),
      untilMs: BigInt(tx.nowMs + forMs),
    };
    tx.update(row, { stackName });
    recordCount(tx, row, allDriftOf(row.message), [...others, made]);
    return made;
  });
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
