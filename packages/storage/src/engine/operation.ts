import { freezeId, freezeResource } from "../freeze.ts";
import type { ResourceId } from "../resource.ts";
import type { BatchOperation } from "../types.ts";

/** The operation, independent of what its caller does with the argument afterwards. */
export function copyOperation(operation: BatchOperation): BatchOperation {
  return operation.kind === "delete"
    ? { kind: "delete", id: freezeId(operation.id), version: operation.version }
    : { kind: "write", resource: freezeResource(operation.resource) };
}

/** What an operation is about. */
export function targetOf(operation: BatchOperation): {
  readonly id: ResourceId;
  readonly version: string;
} {
  return operation.kind === "write" ? operation.resource : operation;
}
