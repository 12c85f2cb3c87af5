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
  type Status,
  type Tenancy,
  type UnversionedType,
  WILDCARD,
} from "./resource.ts";
import type { BatchOperation, Guard, ReadConsistency } from "./types.ts";

// Every engine runs these checks before it does anything else, so that bad input gives the same
// typed error everywhere and never reaches a database. All strings have to be well-formed UTF-16:
// a lone surrogate has no UTF-8 form and would come back as another string.

/** Longest group, kind, group version, tenancy field or uid, in UTF-8 bytes. */
const MAX_FIELD_BYTES = 256;

/** Checks an id that names one resource, and gives its size in bytes. */
export function checkId(id: ResourceId, limits: StorageLimits, field = "id"): number {
  const { type, tenancy } = id;
  checkNotEmpty(type, field);
  if (id.name === "") throw invalid(`${field}.name`, "is empty");
  for (const part of ["partition", "peerName", "namespace"] as const) {
    if (tenancy[part] === WILDCARD) {
      throw invalid(
        `${field}.tenancy.${part}`,
        "is a wildcard, which only list and watchList take",
      );
    }
  }
  return (
    checkText(id.name, limits.nameBytes, field, "name") +
    checkText(id.uid, MAX_FIELD_BYTES, field, "uid") +
    checkText(type.group, MAX_FIELD_BYTES, field, "type.group") +
    checkText(type.groupVersion, MAX_FIELD_BYTES, field, "type.groupVersion") +
    checkText(type.kind, MAX_FIELD_BYTES, field, "type.kind") +
    checkTenancy(tenancy, field)
  );
}

/** Checks a tenancy, wildcards allowed, and gives its size in bytes. */
function checkTenancy(tenancy: Tenancy, field: string): number {
  return (
    checkText(tenancy.partition, MAX_FIELD_BYTES, field, "tenancy.partition") +
    checkText(tenancy.peerName, MAX_FIELD_BYTES, field, "tenancy.peerName") +
    checkText(tenancy.namespace, MAX_FIELD_BYTES, field, "tenancy.namespace")
  );
}

function checkNotEmpty(type: UnversionedType, field: string): void {
  for (const part of ["group", "kind"] as const) {
    if (type[part] === "") throw invalid(`${field}.type.${part}`, "is empty");
  }
}

/** Checks the arguments of `list` and `watchList`. */
export function checkFilter(
  type: UnversionedType,
  tenancy: Tenancy,
  namePrefix: string,
  limits: StorageLimits,
): void {
  checkNotEmpty(type, "filter");
  checkText(type.group, MAX_FIELD_BYTES, "filter", "type.group");
  checkText(type.kind, MAX_FIELD_BYTES, "filter", "type.kind");
  checkTenancy(tenancy, "filter");
  checkText(namePrefix, limits.nameBytes, "filter", "namePrefix");
}

/** Checks a version that a caller gives; it is opaque, so only its form is checked. */
export function checkVersion(version: string, field = "call"): void {
  checkText(version, MAX_FIELD_BYTES, field, "version");
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
  let envelope = checkId(resource.id, limits, `${field}.id`);
  if (resource.id.type.groupVersion === "") {
    throw invalid(`${field}.id.type.groupVersion`, "is empty");
  }
  if (resource.owner !== undefined) envelope += checkId(resource.owner, limits, `${field}.owner`);
  checkVersion(resource.version, field);
  envelope += measureContents(resource, field);
  if (envelope > limits.envelopeBytes) throw tooLarge(field, limits.envelopeBytes, envelope);
  const data = resource.data?.value.byteLength ?? 0;
  if (data > limits.dataBytes) throw tooLarge(`${field}.data.value`, limits.dataBytes, data);
  return data + envelope;
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
    checkVersion(guard.version, `guards[${position}]`);
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
      checkVersion(operation.version, field);
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

/** Bytes of what is neither identity nor data; all texts have to be encodable. */
function measureContents(resource: Resource, field: string): number {
  let bytes = measure(resource.generation, field, "generation");
  for (const key of Object.keys(resource.metadata)) {
    bytes += measure(key, field, "metadata");
    bytes += measure(resource.metadata[key] ?? "", field, "metadata");
  }
  for (const [key, status] of Object.entries(resource.status)) {
    bytes += measure(key, field, "status") + measureStatus(status, `${field}.status["${key}"]`);
  }
  if (resource.data !== undefined) bytes += measure(resource.data.typeUrl, field, "data.typeUrl");
  return bytes;
}

function measureStatus(status: Status, field: string): number {
  let bytes = measure(status.observedGeneration, field, "observedGeneration");
  if (status.updatedAt !== undefined) checkTimestamp(status.updatedAt, `${field}.updatedAt`);
  for (const condition of status.conditions) {
    const { type, reason, message, resource: reference } = condition;
    const texts = [type, reason, message];
    if (reference !== undefined) {
      texts.push(reference.name, reference.section);
      texts.push(...Object.values(reference.type), ...Object.values(reference.tenancy));
    }
    for (const text of texts) bytes += measure(text, field, "conditions");
  }
  return bytes;
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

/** A text that takes part in identity or comparison: no NUL, encodable, not over-long. */
function checkText(text: string, maxBytes: number, field: string, part: string): number {
  if (typeof text !== "string") throw invalid(`${field}.${part}`, "is not a string");
  const bytes = measure(text, field, part);
  if (text.includes("\0")) throw invalid(`${field}.${part}`, "contains NUL");
  if (bytes - 2 > maxBytes) throw tooLarge(`${field}.${part}`, maxBytes, bytes - 2);
  return bytes;
}

/** UTF-8 bytes of a text and of the lengths around it; it has to be encodable. */
function measure(text: string, field: string, part: string): number {
  if (!text.isWellFormed()) throw invalid(`${field}.${part}`, "is not well-formed Unicode");
  return Buffer.byteLength(text) + 2;
}

function invalid(field: string, what: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", `${field} ${what}`, { details: { field } });
}

function tooLarge(field: string, limit: number, actual: number): StorageError {
  return new StorageError("STORAGE_TOO_LARGE", `${field} is ${actual}, the limit is ${limit}`, {
    details: { field, limit, actual },
  });
}
