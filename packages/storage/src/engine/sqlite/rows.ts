import { crc32 } from "node:zlib";
import { decodeResource, encodeResource } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { lifetimeKey, resourceKey } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import type { Guard } from "../../types.ts";
import type { BodyRow, GuardRow, StagedRow, WriteRow } from "./protocol.ts";

/** The row of a resource to be written. */
export function toWriteRow(resource: Resource): WriteRow {
  const body = encodeResource(resource);
  return {
    key: resourceKey(resource.id),
    uid: resource.id.uid,
    expected: resource.version,
    owner: resource.owner === undefined ? null : lifetimeKey(resource.owner),
    body,
    checksum: crc32(body),
  };
}

/** The row of a resource to be restored. */
export function toStagedRow(resource: Resource): StagedRow {
  const { expected: version, ...row } = toWriteRow(resource);
  return { ...row, version };
}

/** A guard as the worker judges it. */
export function toGuardRow(guard: Guard): GuardRow {
  return { key: resourceKey(guard.id), uid: guard.id.uid, version: guard.version };
}

/** The resource of a row; `STORAGE_CORRUPT` when the body is not what was once written. */
export function fromBodyRow(row: BodyRow): Resource {
  if (crc32(row.body) !== row.checksum) {
    throw new StorageError("STORAGE_CORRUPT", "the checksum of a stored resource does not match");
  }
  return decodeResource(row.body, row.version);
}
