import { crc32 } from "node:zlib";
import { decodeResource, type ResourceEncoder } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { lifetimeKey, resourceKey } from "../../key.ts";
import { decodeHead } from "../../list/resource-head.ts";
import type { ResourceHead } from "../../list/types.ts";
import type { Resource } from "../../resource.ts";
import type { Guard } from "../../types.ts";
import type { BodyRow, GuardRow, HeadRow, WriteRow } from "./protocol.ts";

/** The row of a resource to be written; its version is the one to replace. */
export function toWriteRow(resource: Resource, encoder: ResourceEncoder): WriteRow {
  const body = encoder.encode(resource);
  const owner = resource.owner === undefined ? null : lifetimeKey(resource.owner);
  const { id, version } = resource;
  return [resourceKey(id), id.uid, version, owner, body, crc32(body)];
}

/** A guard as the worker judges it. */
export function toGuardRow(guard: Guard): GuardRow {
  return [resourceKey(guard.id), guard.id.uid, guard.version];
}

/** Whether a body is what was once written. */
export function isIntact(row: BodyRow): boolean {
  return crc32(row.body) === row.checksum;
}

/** The head of a row, as {@link fromBodyRow} for the rest. */
export function fromHeadRow({ data, ...row }: HeadRow): ResourceHead {
  if (!isIntact(row)) throw damagedBody();
  return decodeHead({ envelope: row.body, ...(data === undefined ? {} : { data }) }, row.version);
}

/** The resource of a row; `STORAGE_CORRUPT` when the body is not what was once written. */
export function fromBodyRow(row: BodyRow): Resource {
  if (!isIntact(row)) throw damagedBody();
  return decodeResource(row.body, row.version);
}

function damagedBody(): StorageError {
  return new StorageError("STORAGE_CORRUPT", "the checksum of a stored resource does not match");
}
