import { RfsStacksError } from "../errors.ts";
import type { RfsStack } from "../port/stack-port.ts";
import { isInProgress } from "../status/stack-status.ts";
import type { OperationCall } from "./operation.ts";

/** The stack that the path of a request names, with the id that the request gives for it. */
export async function findStack(call: OperationCall, id: string | undefined): Promise<RfsStack> {
  const { port, caller, project, params } = call;
  const name = params["stack_name"] ?? "";
  const found = await port.stacks.find(caller, project, name);
  if (found === undefined) {
    throw new RfsStacksError("RFS_STACK_NOT_FOUND", `there is no stack "${name.slice(0, 128)}"`);
  }
  if (id === undefined || id === found.id) return found;
  throw new RfsStacksError(
    "RFS_STACK_ID_MISMATCH",
    `the stack "${name}" has the id ${found.id}, which is not the one that was given`,
  );
}

/** `RFS_STACK_BUSY` while a run of the stack is in progress. */
export function requireIdle({ deployment, name }: RfsStack): void {
  if (deployment === undefined || !isInProgress(deployment)) return;
  throw busy(name);
}

export function busy(name: string): RfsStacksError {
  return new RfsStacksError("RFS_STACK_BUSY", `the stack "${name}" is in progress; wait for it`);
}
