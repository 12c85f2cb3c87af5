import type { LifecycleContext } from "@stackwright/mux/router";
import type { ReadyProvider } from "../plan/plan-run.ts";
import type { StateWriter } from "../state/stack-state.ts";
import { isPending, type StateObject } from "../state/state-object.ts";
import { resolveOperation } from "./resolve-operation.ts";

/** What became of an operation whose run was interrupted. */
export interface RecoveredOperation {
  readonly address: string;
  readonly deposed: string;
  readonly operation: "create" | "update" | "delete";
  readonly outcome: "exists" | "absent" | "untouched" | "unresolved";
  /** Of an unresolved one: why, and what to look for. */
  readonly problem?: string;
}

/**
 * Settles every call that was announced and whose answer was never recorded. Afterwards nothing of the stack is pending:
 * each object is as it really is, or `unresolved`. Repeatable: what was settled stays settled.
 */
export async function settlePending(
  writer: StateWriter,
  providerOf: (object: StateObject) => Promise<ReadyProvider | undefined>,
  context: LifecycleContext,
): Promise<readonly RecoveredOperation[]> {
  const recovered: RecoveredOperation[] = [];
  // Objects change while they are gone through.
  const objects = Array.from(writer.objects.values());
  for (const object of objects) {
    const { operation, address, deposed } = object;
    if (operation === undefined || !isPending(object)) continue;
    const ready = await providerOf(object);
    const outcome =
      ready === undefined
        ? {
            kind: "unresolved" as const,
            problem: "Its provider is not available, so that nobody can look.",
          }
        : await resolveOperation(object, operation, ready.use, context);
    await writer.write({
      kind: "settle",
      key: { address, deposed },
      operation: operation.id,
      outcome,
    });
    recovered.push({
      address,
      deposed,
      operation: operation.kind,
      outcome: outcome.kind,
      ...(outcome.kind === "unresolved" && { problem: outcome.problem }),
    });
    // The new object was not made: the one that made place for it is the current one again.
    if (outcome.kind === "absent" && operation.deposed !== undefined) {
      await writer.write({ kind: "restore", address, deposed: operation.deposed });
    }
  }
  return recovered;
}
