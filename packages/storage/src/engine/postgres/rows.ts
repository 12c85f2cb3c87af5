import { addChecksum, checkBody } from "../../checked-body.ts";
import { decodeResource, encodeResource } from "../../codec.ts";
import { type DamagedResource, decodeEach, idOfKey } from "../../damaged-resource.ts";
import { lifetimeKey } from "../../key.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type { BatchOperation, Guard } from "../../types.ts";

/** One step of a request as `apply_writes` takes it. */
export interface WriteStep {
  /** 0 guard, 1 write, 2 delete. */
  readonly kind: 0 | 1 | 2;
  readonly id: ResourceId;
  /** The version that has to be stored. */
  readonly expected: string;
  readonly owner: Buffer | null;
  readonly body: Buffer | null;
}

/** What is stored of a resource, as far as it takes to hand it out. */
export interface BodyRow {
  readonly version: string;
  readonly body: Uint8Array;
}

/** A row and where it is: its identity as a JSON array, taken apart only where it is needed. */
export interface KeyedRow extends BodyRow {
  readonly key: string;
  readonly uid: string;
  /** Bytes of the whole body; `body` may be the beginning of it. */
  readonly size: number;
}

export function guardStep(guard: Guard): WriteStep {
  return { kind: 0, id: guard.id, expected: guard.version, owner: null, body: null };
}

/** The step of an operation whose resource is frozen. */
export function operationStep(operation: BatchOperation): WriteStep {
  if (operation.kind === "delete") {
    return { kind: 2, id: operation.id, expected: operation.version, owner: null, body: null };
  }
  const { resource } = operation;
  return {
    kind: 1,
    id: resource.id,
    expected: resource.version,
    owner: ownerKey(resource.owner),
    body: addChecksum(encodeResource(resource)),
  };
}

/** The value of the column that `listByOwner` looks up. */
export function ownerKey(owner: ResourceId | undefined): Buffer | null {
  return owner === undefined ? null : Buffer.from(lifetimeKey(owner));
}

/** The resource of a row; `STORAGE_CORRUPT` when the body is not what was written. */
export function fromBodyRow(row: BodyRow): Resource {
  return decodeResource(checkBody(row.body), row.version);
}

/** What is damaged about a row. */
export function describeDamagedRow(row: Omit<KeyedRow, "size">, reason: string): DamagedResource {
  const { key, uid, version, body } = row;
  return { id: idOfKey(JSON.parse(key) as string[], uid), version, reason, body };
}

/** The resources of rows; those that are damaged go to `onDamaged`, and without it fail all. */
export function fromRows(
  rows: readonly KeyedRow[],
  onDamaged?: (damaged: DamagedResource) => void,
): readonly Resource[] {
  return decodeEach(rows, fromBodyRow, describeDamagedRow, onDamaged);
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// Arrays are passed in their text form, which the casts in the queries read. The library's own array
// parameters need the types of the server to be fetched for each connection first.

/** An array of texts as a parameter. */
export function textArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** An array of numbers as a parameter. */
export function numberArray(values: readonly number[]): string {
  return `{${values.join(",")}}`;
}

/** An array of bytes as a parameter. */
export function byteaArray(values: readonly (Buffer | null)[]): string {
  const items = values.map((value) =>
    value === null ? "NULL" : `"\\\\x${value.toString("hex")}"`,
  );
  return `{${items.join(",")}}`;
}
