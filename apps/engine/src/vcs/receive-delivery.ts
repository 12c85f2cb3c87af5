import { createHash } from "node:crypto";
import { type VcsCommand, type VcsConnection, VcsDelivery } from "@stackwright/proto/stackwright";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type Transaction, type TransactionParts, transact } from "../queue/transaction.ts";
import { askFor } from "./ask-for.ts";
import type { VcsEvent } from "./delivery/read-delivery.ts";
import { plansDigest } from "./plans-digest.ts";
import { type ConnectionReference, keyedPlace, pullRequestKey } from "./vcs-places.ts";

/**
 * Stores a delivery together with the work that it leads to, so that a crash loses neither. One that was received before does
 * nothing: its bytes count, as the headers that number deliveries are not signed. Resolves with whether it is new.
 */
export async function receiveDelivery(
  parts: TransactionParts,
  reference: ConnectionReference,
  connection: VcsConnection,
  { body, event }: { readonly body: Uint8Array; readonly event: VcsEvent },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const id = createHash("sha256").update(body).digest("hex");
  const place = keyedPlace(reference, connection, id);
  return transact(parts, async (tx) => {
    if ((await tx.find(SERVER_KINDS.vcsDelivery, place)) !== undefined) return { id, isNew: false };
    const { concerns, command } = event;
    const asked =
      concerns === undefined || concerns === "branch"
        ? {}
        : {
            ...concerns,
            ...(command !== undefined && {
              command: {
                ...command,
                ...(await seenPlans(tx, reference, connection, concerns.pullRequest)),
                delivery: id,
              },
            }),
          };
    const task = concerns === undefined ? "" : await askFor(tx, reference, connection, asked);
    const receivedAtMs = BigInt(tx.nowMs);
    const record = VcsDelivery.create({ event: event.event, task, receivedAtMs });
    tx.create(SERVER_KINDS.vcsDelivery, place, record);
    return { id, isNew: true };
  });
}

/** The plans that the author of a comment may have seen: a comment applies no others. */
async function seenPlans(
  tx: Transaction,
  reference: ConnectionReference,
  connection: VcsConnection,
  pullRequest: string,
): Promise<Pick<VcsCommand, "head" | "plansSha256">> {
  const place = keyedPlace(reference, connection, pullRequestKey(pullRequest));
  const pull = (await tx.find(SERVER_KINDS.vcsPullRequest, place))?.message;
  if (pull === undefined) return { head: "", plansSha256: "" };
  return { head: pull.head, plansSha256: await plansDigest(tx, reference, pull) };
}
