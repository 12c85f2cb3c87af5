import type { BatchOperation } from "@stackwright/storage";
import type { Companion, TransactionParts } from "../queue/transaction.ts";
import type { AuditCaller, AuditTrail } from "./registry-audit.ts";

/**
 * The entry of a change in the audit trail, which the first batch has that changes something: a crash leaves both or neither.
 * All attempts write the same entry, so that only one of them can be done.
 */
export class ChangeEntry implements Companion {
  readonly #make: () => BatchOperation;
  #entry: BatchOperation | undefined;
  #isWritten = false;

  constructor(make: () => BatchOperation) {
    this.#make = make;
  }

  get isWritten(): boolean {
    return this.#isWritten;
  }

  next(): readonly BatchOperation[] {
    if (this.#isWritten) return [];
    this.#entry ??= this.#make();
    return [this.#entry];
  }

  written(): void {
    this.#isWritten = true;
  }
}

/** Parts for one change, whose entry is written together with it. */
export function auditedParts<T extends TransactionParts>(
  parts: T & { readonly audit: AuditTrail },
  caller: AuditCaller,
  facts: { readonly action: string; readonly target: string },
): T {
  const { audit } = parts;
  return { ...parts, companion: new ChangeEntry(() => audit.entry(caller, facts)) };
}
