import { addChecksum, checkBody } from "../../checked-body.ts";
import { decodeResource, type ResourceEncoder } from "../../codec.ts";
import { type DamagedResource, decodeEach, idOfKey } from "../../damaged-resource.ts";
import { StorageError } from "../../errors.ts";
import { KEY_SEPARATOR } from "../../key.ts";
import { cutBody, decodeHead } from "../../list/resource-head.ts";
import type { ResourceHead } from "../../list/types.ts";
import type { Resource } from "../../resource.ts";
import type { Layout } from "./layout.ts";

/** A resource as etcd has it. */
export interface StoredValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly modRevision: bigint;
}

/** The value of a resource. */
export function toValue(encoder: ResourceEncoder, resource: Resource): Uint8Array {
  return addChecksum(encoder.encode(resource));
}

/** The resource of a value; `STORAGE_CORRUPT` when it is not what was written. */
export function fromValue(layout: Layout, stored: StoredValue): Resource {
  return decodeResource(checkBody(stored.value), layout.versionOf(stored));
}

/** The resources of values; those that are damaged go to `onDamaged`, and without it fail all. */
export function fromValues(
  layout: Layout,
  values: readonly StoredValue[],
  onDamaged?: (damaged: DamagedResource) => void,
): readonly Resource[] {
  return decodeEach(
    values,
    (stored) => fromValue(layout, stored),
    (stored, reason) => describeDamagedValue(layout, stored, reason),
    onDamaged,
  );
}

/** The heads of values, of which all is checked; damaged ones as for {@link fromValues}. */
export function headsOfValues(
  layout: Layout,
  values: readonly StoredValue[],
  onDamaged?: (damaged: DamagedResource) => void,
): readonly ResourceHead[] {
  return decodeEach(
    values,
    (stored) => {
      const body = checkBody(stored.value);
      const cut = cutBody(body, body.byteLength);
      if (cut === undefined) throw new StorageError("STORAGE_CORRUPT");
      return decodeHead(cut, layout.versionOf(stored));
    },
    (stored, reason) => describeDamagedValue(layout, stored, reason),
    onDamaged,
  );
}

/** What is damaged about a value; its key has the rest. */
export function describeDamagedValue(
  layout: Layout,
  stored: StoredValue,
  reason: string,
): DamagedResource {
  const fields = layout.identity(stored.key).split(KEY_SEPARATOR);
  const id = idOfKey(fields, fields[6] ?? "");
  return { id, version: layout.versionOf(stored), reason, body: stored.value };
}
