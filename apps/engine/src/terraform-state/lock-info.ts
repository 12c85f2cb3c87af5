import { readJsonObject } from "@stackwright/base/json";
import { type StackLock, TerraformLock } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";

/** Members of a lock in the JSON form of Terraform, and how many characters of each are kept. */
const MEMBERS = [
  ["ID", "id", 128],
  ["Operation", "operation", 128],
  ["Info", "info", 1_024],
  ["Who", "who", 256],
  ["Version", "version", 64],
  ["Created", "created", 64],
  ["Path", "path", 512],
] as const;

/** Reads what a command sends with LOCK and UNLOCK. `invalid_request` for something else. */
export function readLockInfo(body: Uint8Array): TerraformLock {
  const { object, problem } = readJsonObject(body);
  if (problem !== undefined) {
    throw new ServerError("invalid_request", "the body is not the JSON object of a lock");
  }
  const lock = TerraformLock.create();
  for (const [member, name, length] of MEMBERS) {
    const value = object[member];
    if (typeof value === "string") lock[name] = value.slice(0, length);
    else if (value !== undefined && value !== null) {
      throw new ServerError("invalid_request", `"${member}" of the lock is not a text`);
    }
  }
  // It is compared, and shown: nothing of it may be cut.
  if (lock.id === "" || lock.id !== object["ID"]) {
    throw new ServerError("invalid_request", 'the lock has no "ID" of 1 to 128 characters');
  }
  return lock;
}

/**
 * The JSON form of a lock, for the command that it keeps out. Commands show their users nothing of it but the ID: that of a lock
 * which no command has says who has it, and why.
 */
export function formatLockInfo({ terraform, actor, reason, atMs }: StackLock): string {
  const taken = new Date(Number(atMs)).toISOString();
  const lock = terraform ?? {
    id: `${actor}: ${reason}`,
    operation: "",
    info: reason,
    who: actor,
    version: "",
    created: taken,
    path: "",
  };
  const shown = { ...lock, created: isTime(lock.created) ? lock.created : taken };
  return JSON.stringify(Object.fromEntries(MEMBERS.map(([member, name]) => [member, shown[name]])));
}

/** Commands that read no time here read nothing of the lock, and show the ID of their own one. Scripts leave it out. */
function isTime(text: string): boolean {
  const isWritten = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text);
  return isWritten && !Number.isNaN(Date.parse(text));
}

/** The words of a lock of a command, where those of a person have a reason. */
export function reasonOf({ operation, who, version }: TerraformLock): string {
  const what = operation.replace(/^OperationType/, "").toLowerCase();
  const command = `terraform ${what === "" ? "command" : what}`;
  return `${command}${who === "" ? "" : ` by ${who}`}${version === "" ? "" : `, version ${version}`}`;
}
