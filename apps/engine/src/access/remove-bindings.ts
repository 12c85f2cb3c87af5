import type { Logger } from "@stackwright/base/logger";
import type { RoleBinding } from "@stackwright/proto/stackwright";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { accountTenancy, bindingPlace, type SubjectKind } from "./access-places.ts";

const KIND = SERVER_KINDS.roleBinding;

/** The roles of an account that are chosen. One whose record is damaged gives nothing, and is left out. */
export async function listBindings(
  { storage, logger }: Pick<TransactionParts, "storage"> & { readonly logger?: Logger | undefined },
  account: string,
  isChosen: (binding: RoleBinding) => boolean,
): Promise<readonly RoleBinding[]> {
  const onDamaged = logDamaged(logger);
  const found = await listReadable(storage, KIND, accountTenancy(account), { onDamaged });
  return found.map(({ message }) => message).filter(isChosen);
}

/**
 * Takes roles away, one by one, as a batch is bounded. What they belong to has to be deleted after them, so that a repetition does
 * the rest.
 */
export async function removeBindings(
  parts: TransactionParts,
  account: string,
  bindings: readonly RoleBinding[],
): Promise<void> {
  for (const { subjectKind, subject, project } of bindings) {
    const place = bindingPlace({
      account,
      kind: subjectKind as SubjectKind,
      subject,
      ...(project !== "" && { project }),
    });
    await transact(parts, async (tx) => {
      const row = await tx.find(KIND, place);
      if (row !== undefined) tx.remove(row);
    });
  }
}
