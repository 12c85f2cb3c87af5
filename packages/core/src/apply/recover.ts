import type { LifecycleContext } from "@stackwright/mux/router";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { StateWriter } from "../state/stack-state.ts";
import type { OperationResult } from "../state/state-change.ts";
import {
  isPending,
  type ObjectOperation,
  recoveredBytes,
  type StateObject,
} from "../state/state-object.ts";
import { resolveAbsent, resolveById, resolveOperation } from "./resolve-operation.ts";

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
export async function recoverPendingOperations(
  writer: StateWriter,
  providerOf: (object: StateObject) => Promise<ReadyProvider | undefined>,
  context: LifecycleContext,
): Promise<readonly RecoveredOperation[]> {
  const recovered: RecoveredOperation[] = [];
  // Objects change while they are gone through.
  const objects = Array.from(writer.objects.values());
  for (const object of objects) {
    const { operation } = object;
    if (operation === undefined || !isPending(object)) continue;
    const ready = await providerOf(object);
    const outcome =
      ready === undefined
        ? unavailable()
        : await resolveOperation(object, operation, ready.use, context);
    recovered.push(await settle(writer, object, operation, outcome));
  }
  return recovered;
}

/** How an unresolved object is resolved. */
export type Resolution =
  /** Read it, or look for it under its identity, as after an interruption. */
  | { readonly kind: "look" }
  /** It is the object with this import id. */
  | { readonly kind: "id"; readonly id: string }
  /** Nothing exists. */
  | { readonly kind: "absent" };

/**
 * Settles unresolved objects as the caller decides; those without a decision stay. What is not found stays unresolved, and the
 * result says why.
 */
export async function settleUnresolved(
  writer: StateWriter,
  decide: (object: StateObject) => Resolution | undefined,
  providerOf: (object: StateObject) => Promise<ReadyProvider | undefined>,
  context: LifecycleContext,
): Promise<readonly RecoveredOperation[]> {
  const settled: RecoveredOperation[] = [];
  const objects = Array.from(writer.objects.values());
  for (const object of objects) {
    const { operation, phase } = object;
    if (phase !== "unresolved" || operation === undefined) continue;
    const resolution = decide(object);
    if (resolution === undefined) continue;
    const outcome = await resolve(object, operation, resolution, providerOf, context);
    settled.push(
      outcome.kind === "unresolved"
        ? recoveredOf(object, operation, outcome)
        : await settle(writer, object, operation, outcome),
    );
  }
  return settled;
}

async function resolve(
  object: StateObject,
  operation: ObjectOperation,
  resolution: Resolution,
  providerOf: (object: StateObject) => Promise<ReadyProvider | undefined>,
  context: LifecycleContext,
): Promise<OperationResult> {
  if (resolution.kind === "absent" && recoveredBytes(object).length === 0) {
    return { kind: "absent" };
  }
  const ready = await providerOf(object);
  if (resolution.kind === "absent") {
    if (ready !== undefined) return resolveAbsent(object, operation, ready.use, context);
    // Of a type that notes its parts the user speaks of those alone that are not known, and which type does only its provider says.
    return operation.kind === "delete" ? { kind: "absent" } : unavailable();
  }
  if (ready === undefined) return unavailable();
  if (resolution.kind === "look") return resolveOperation(object, operation, ready.use, context);
  return resolveById(object, operation, resolution.id, ready.use, context);
}

function unavailable(): OperationResult {
  const problem = "Its provider is not available, so its object cannot be read.";
  return { kind: "unresolved", problem };
}

async function settle(
  writer: StateWriter,
  object: StateObject,
  operation: ObjectOperation,
  outcome: OperationResult,
): Promise<RecoveredOperation> {
  const { address, deposed } = object;
  await writer.write({
    kind: "settle",
    key: { address, deposed },
    operation: operation.id,
    outcome,
  });
  // The new object was not made: the one that made place for it is the current one again, where it is still there.
  const former = outcome.kind === "absent" ? operation.deposed : undefined;
  if (former !== undefined && writer.object(address, former) !== undefined) {
    await writer.write({ kind: "restore", address, deposed: former });
  }
  return recoveredOf(object, operation, outcome);
}

function recoveredOf(
  { address, deposed }: StateObject,
  operation: ObjectOperation,
  outcome: OperationResult,
): RecoveredOperation {
  return {
    address,
    deposed,
    operation: operation.kind,
    outcome: outcome.kind,
    ...(outcome.kind === "unresolved" && { problem: outcome.problem }),
  };
}
