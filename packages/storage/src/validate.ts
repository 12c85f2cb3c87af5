import {
  MAX_BATCH_OPERATIONS,
  type StorageCapabilities,
  type StorageLimits,
} from "./capabilities.ts";
import { StorageError } from "./errors.ts";
import { resourceKey } from "./key.ts";
import {
  type Resource,
  type ResourceId,
  type Tenancy,
  type UnversionedType,
  WILDCARD,
} from "./resource.ts";
import type { BatchOperation, Guard, ReadConsistency } from "./types.ts";

// Every engine runs these checks before it does anything else, so that bad input gives the same
// typed error everywhere and never reaches a database. All strings have to be well-formed UTF-16:
// a lone surrogate has no UTF-8 form and would come back as another string.

/** Longest group, kind, group version, tenancy field or uid, in UTF-8 bytes. */
export const MAX_FIELD_BYTES = 256;

/** Checks an id that names one resource: for reads, writes, deletes, guards and owners. */
export function checkId(id: ResourceId, limits: StorageLimits, field = "id"): void {
  checkType(id.type, `${field}.type`);
  checkText(id.type.groupVersion, `${field}.type.groupVersion`, MAX_FIELD_BYTES);
  checkTenancy(id.tenancy, `${field}.tenancy`);
  for (const part of ["partition", "peerName", "namespace"] as const) {
    if (id.tenancy[part] === WILDCARD) {
      throw invalid(
        `${field}.tenancy.${part}`,
        "is a wildcard, which only list and watchList take",
      );
    }
  }
  if (id.name === "") throw invalid(`${field}.name`, "is empty");
  checkText(id.name, `${field}.name`, limits.nameBytes);
  checkText(id.uid, `${field}.uid`, MAX_FIELD_BYTES);
}

/** Checks a type without its group version: group and kind are required. */
export function checkType(type: UnversionedType, field = "type"): void {
  for (const part of ["group", "kind"] as const) {
    if (type[part] === "") throw invalid(`${field}.${part}`, "is empty");
    checkText(type[part], `${field}.${part}`, MAX_FIELD_BYTES);
  }
}

/** Checks a tenancy, wildcards allowed. */
export function checkTenancy(tenancy: Tenancy, field = "tenancy"): void {
  checkText(tenancy.partition, `${field}.partition`, MAX_FIELD_BYTES);
  checkText(tenancy.peerName, `${field}.peerName`, MAX_FIELD_BYTES);
  checkText(tenancy.namespace, `${field}.namespace`, MAX_FIELD_BYTES);
}

/** Checks the arguments of `list` and `watchList`. */
export function checkFilter(
  type: UnversionedType,
  tenancy: Tenancy,
  namePrefix: string,
  limits: StorageLimits,
): void {
  checkType(type);
  checkTenancy(tenancy);
  checkText(namePrefix, "namePrefix", limits.nameBytes);
}

/** Checks a version that a caller gives; it is opaque, so only its form is looked at. */
export function checkVersion(version: string, field = "version"): void {
  checkText(version, field, MAX_FIELD_BYTES);
}

/** An unknown mode cannot be satisfied: `STORAGE_INCONSISTENT`. */
export function checkConsistency(consistency: ReadConsistency): void {
  if (consistency !== "eventual" && consistency !== "strong") {
    throw new StorageError(
      "STORAGE_INCONSISTENT",
      `unknown read consistency ${JSON.stringify(consistency)}`,
    );
  }
}

/** Checks a resource to be written and gives its size in bytes: data and everything else. */
export function checkResource(
  resource: Resource,
  limits: StorageLimits,
  field = "resource",
): number {
  checkId(resource.id, limits, `${field}.id`);
  if (resource.id.type.groupVersion === "") {
    throw invalid(`${field}.id.type.groupVersion`, "is empty");
  }
  if (resource.owner !== undefined) checkId(resource.owner, limits, `${field}.owner`);
  checkVersion(resource.version, `${field}.version`);
  const size = measureResource(resource, field);
  if (size.data > limits.dataBytes) {
    throw tooLarge(`${field}.data.value`, limits.dataBytes, size.data);
  }
  if (size.envelope > limits.envelopeBytes) {
    throw tooLarge(field, limits.envelopeBytes, size.envelope);
  }
  return size.data + size.envelope;
}

/** Checks guards against what the engine offers. */
export function checkGuards(guards: readonly Guard[], capabilities: StorageCapabilities): void {
  if (guards.length === 0) return;
  if (capabilities.guards === 0) throw unsupported(capabilities, "guarded writes");
  if (guards.length > capabilities.guards) {
    throw tooLarge("guards", capabilities.guards, guards.length);
  }
  for (const [position, guard] of guards.entries()) {
    checkId(guard.id, capabilities.limits, `guards[${position}].id`);
    checkVersion(guard.version, `guards[${position}].version`);
  }
}

/** Checks the operations of a batch: number, total size, pairwise different names. */
export function checkBatch(
  operations: readonly BatchOperation[],
  capabilities: StorageCapabilities,
): void {
  if (capabilities.batch === 0) throw unsupported(capabilities, "batches");
  const most = Math.min(capabilities.batch, MAX_BATCH_OPERATIONS);
  if (operations.length === 0) throw invalid("operations", "is empty");
  if (operations.length > most) throw tooLarge("operations", most, operations.length);
  const keys = new Set<string>();
  let bytes = 0;
  for (const [position, operation] of operations.entries()) {
    const field = `operations[${position}]`;
    let id: ResourceId;
    if (operation.kind === "write") {
      bytes += checkResource(operation.resource, capabilities.limits, `${field}.resource`);
      id = operation.resource.id;
    } else {
      checkId(operation.id, capabilities.limits, `${field}.id`);
      checkVersion(operation.version, `${field}.version`);
      id = operation.id;
    }
    const key = resourceKey(id);
    if (keys.has(key)) throw invalid(field, `names "${id.name}" a second time`);
    keys.add(key);
  }
  if (bytes > capabilities.limits.batchBytes) {
    throw tooLarge("operations", capabilities.limits.batchBytes, bytes);
  }
}

/** The error of a capability that an engine does not have. */
export function unsupported(capabilities: StorageCapabilities, what: string): StorageError {
  return new StorageError("STORAGE_UNSUPPORTED", `${capabilities.engine} has no ${what}`);
}

function measureResource(resource: Resource, field: string): { data: number; envelope: number } {
  let envelope = idBytes(resource.id) + resource.generation.length;
  const add = (text: string, path: string): void => {
    if (!text.isWellFormed()) throw invalid(path, "is not well-formed Unicode");
    envelope += Buffer.byteLength(text) + 2;
  };
  add(resource.generation, `${field}.generation`);
  if (resource.owner !== undefined) envelope += idBytes(resource.owner);
  for (const [key, value] of Object.entries(resource.metadata)) {
    add(key, `${field}.metadata`);
    add(value, `${field}.metadata["${key}"]`);
  }
  for (const [key, status] of Object.entries(resource.status)) {
    const path = `${field}.status["${key}"]`;
    add(key, path);
    add(status.observedGeneration, path);
    if (status.updatedAt !== undefined) checkTimestamp(status.updatedAt, `${path}.updatedAt`);
    for (const condition of status.conditions) {
      add(condition.type, path);
      add(condition.reason, path);
      add(condition.message, path);
      const reference = condition.resource;
      if (reference === undefined) continue;
      for (const text of [reference.name, reference.section]) add(text, path);
      for (const text of Object.values(reference.type)) add(text, path);
      for (const text of Object.values(reference.tenancy)) add(text, path);
    }
  }
  if (resource.data !== undefined) add(resource.data.typeUrl, `${field}.data.typeUrl`);
  return { data: resource.data?.value.byteLength ?? 0, envelope };
}

/** The range of google.protobuf.Timestamp: years 1 to 9999. */
function checkTimestamp(time: { seconds: number; nanos: number }, field: string): void {
  const seconds =
    Number.isInteger(time.seconds) &&
    time.seconds >= -62_135_596_800 &&
    time.seconds <= 253_402_300_799;
  const nanos = Number.isInteger(time.nanos) && time.nanos >= 0 && time.nanos <= 999_999_999;
  if (!seconds || !nanos) throw invalid(field, "is not a time between the years 1 and 9999");
}

function idBytes(id: ResourceId): number {
  const { type, tenancy } = id;
  let bytes = 0;
  for (const text of [id.uid, id.name, type.group, type.groupVersion, type.kind]) {
    bytes += Buffer.byteLength(text) + 2;
  }
  for (const text of [tenancy.partition, tenancy.peerName, tenancy.namespace]) {
    bytes += Buffer.byteLength(text) + 2;
  }
  return bytes;
}

/** A text that takes part in identity or comparison: no NUL, encodable, not over-long. */
function checkText(text: string, field: string, maxBytes: number): void {
  if (typeof text !== "string") throw invalid(field, "is not a string");
  if (text.includes("\0")) throw invalid(field, "contains NUL");
  if (!text.isWellFormed()) throw invalid(field, "is not well-formed Unicode");
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw tooLarge(field, maxBytes, bytes);
}

function invalid(field: string, what: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", `${field} ${what}`, { details: { field } });
}

function tooLarge(field: string, limit: number, actual: number): StorageError {
  return new StorageError("STORAGE_TOO_LARGE", `${field} is ${actual}, the limit is ${limit}`, {
    details: { field, limit, actual },
  });
}
