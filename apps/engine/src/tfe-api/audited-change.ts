import type { NamedStack } from "@stackwright/core";
import type { TfeCaller } from "@stackwright/tfe";
import type { TransactionParts } from "../queue/transaction.ts";
import type { ServedParts } from "../terraform-state/served-state.ts";

/** Parts for one change of a caller: its first batch has the entry of the audit trail. */
export type AuditedChange = (
  caller: TfeCaller,
  action: string,
  target: string,
) => TransactionParts & ServedParts;

/** A stack as a target of the audit trail. */
export function targetOf({ reference: { project }, name }: NamedStack): string {
  return targetAt(project, name);
}

export function targetAt(project: string, stack: string): string {
  return `projects/${project}/stacks/${stack}`;
}
