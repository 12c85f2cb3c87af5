import { RfsStacksError } from "../errors.ts";
import type { RfsStackSet } from "../port/stack-set-port.ts";
import type { OperationCall } from "./operation.ts";

/** The stack set that the path of a request names, with the id that the request gives for it. */
export async function findStackSet(
  { port, caller, params }: OperationCall,
  id: string | undefined,
): Promise<RfsStackSet> {
  const name = params["stack_set_name"] ?? "";
  const found = await port.stackSets.find(caller, name);
  if (found === undefined) {
    throw new RfsStacksError(
      "RFS_STACK_SET_NOT_FOUND",
      `there is no stack set "${name.slice(0, 128)}"`,
    );
  }
  if (id === undefined || id === found.id) return found;
  throw new RfsStacksError(
    "RFS_STACK_SET_ID_MISMATCH",
    `the stack set "${name}" has the id ${found.id}, which is not the one that was given`,
  );
}

/** `RFS_NOT_OFFERED` for a caller that acts for an organization of the service. */
export function checkCallIdentity(identity: string | undefined): void {
  if (identity === undefined || identity === "SELF") return;
  throw new RfsStacksError(
    "RFS_NOT_OFFERED",
    "call_identity: this server has no organizations; leave it out, or give SELF",
  );
}

export function setBusy({ name }: Pick<RfsStackSet, "name">): RfsStacksError {
  return new RfsStacksError(
    "RFS_STACK_SET_BUSY",
    `an operation of the stack set "${name}" is in progress; wait for it`,
  );
}
