import type { Clock } from "@stackwright/base/clock";
import { StorageError } from "../errors.ts";
import { notFound, refused } from "../preconditions.ts";
import { readStored } from "../read-stored.ts";
import type { Resource, ResourceId, Timestamp } from "../resource.ts";
import type { CallOptions } from "../types.ts";
import { isUlid } from "../ulid.ts";
import type { StatusInput } from "./inputs.ts";
import { checkReadId } from "./read-resource.ts";
import { retryOnConflict } from "./retry.ts";
import type { ServiceParts } from "./service-parts.ts";

/** Replaces one controller's status and leaves everything else, the generation included. */
export async function writeStatus(
  parts: ServiceParts,
  input: StatusInput,
  { signal }: CallOptions,
): Promise<Resource> {
  checkStatus(input);
  return writeStatusOf(parts, checkReadId(parts, input.id), input, { signal });
}

/** Replaces a status of what is stored under an id, of any type. */
export async function writeStatusOf(
  parts: ServiceParts,
  id: ResourceId,
  input: Omit<StatusInput, "id">,
  { signal }: CallOptions,
): Promise<Resource> {
  const { version = "", key } = input;
  const status = {
    observedGeneration: input.status.observedGeneration,
    conditions: input.status.conditions,
  };
  const cycle = async (): Promise<Resource> => {
    const stored = await readStored(parts.storage, "eventual", id, { signal });
    if (stored === undefined) throw notFound(id);
    if (version !== "" && version !== stored.version) {
      throw refused("STORAGE_CAS_FAILURE", id, version);
    }
    const updatedAt = timestamp(parts.clock);
    const statuses = { ...stored.status, [key]: { ...status, updatedAt } };
    return parts.storage.writeCAS({ ...stored, status: statuses }, { signal });
  };
  signal?.throwIfAborted();
  return version === "" ? retryOnConflict(parts.retry, cycle, signal) : cycle();
}

/** The wall clock's time. */
function timestamp(clock: Clock): Timestamp {
  const ms = Math.floor(clock.wallMs());
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: (ms - seconds * 1_000) * 1_000_000 };
}

function checkStatus({ id, key, status }: StatusInput): void {
  if ((id.uid ?? "") === "") throw invalid("id.uid", "is required");
  if (key === "") throw invalid("key", "is required");
  if (!isUlid(status.observedGeneration)) {
    throw invalid("status.observedGeneration", "is not a ULID");
  }
  if ("updatedAt" in status && status.updatedAt !== undefined) {
    throw invalid("status.updatedAt", "is set by the service");
  }
  for (const [index, condition] of status.conditions.entries()) {
    const at = `status.conditions[${index}]`;
    if (condition.type === "") throw invalid(`${at}.type`, "is required");
    if (condition.resource !== undefined && condition.resource.name === "") {
      throw invalid(`${at}.resource.name`, "is required");
    }
  }
}

function invalid(field: string, what: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", `${field} ${what}`, { details: { field } });
}
