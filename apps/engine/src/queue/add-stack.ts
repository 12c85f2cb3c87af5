import { isStackName, type NamedStack, type StackReference } from "@stackwright/core";
import { Stack } from "@stackwright/proto/stackwright";
import { projectTenancy, STACK_KIND } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import type { Transaction } from "./transaction.ts";

/** Makes the stack of a name as a part of a transaction; undefined where there is one. `conflict` while its project is deleted. */
export async function addStack(
  tx: Transaction,
  { account, project }: Pick<StackReference, "account" | "project">,
  name: string,
): Promise<NamedStack | undefined> {
  if (!isStackName(name)) {
    throw new ServerError(
      "unprocessable",
      `"${name.slice(0, 64)}" is not a stack name: use letters, digits, ".", "_" and "-", at most 128`,
    );
  }
  const place = { tenancy: projectTenancy({ account, project }), name };
  if ((await tx.find(STACK_KIND, place)) !== undefined) return undefined;
  const reference = { account, project, stack: tx.makeId() };
  const createTimeMs = BigInt(tx.nowMs);
  tx.create(STACK_KIND, place, Stack.fromPartial({ id: reference.stack, createTimeMs }));
  return { name, reference, description: "", createdAtMs: tx.nowMs, adoption: undefined };
}
