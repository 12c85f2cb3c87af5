import { RangeRequest } from "@stackwright/proto/etcd";
import type { DamagedResource } from "../../damaged-resource.ts";
import { type ResourceFilter, tenancyMatches } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import { splitKey } from "../../scan.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { type KeyRange, keyAfter, type Layout } from "./layout.ts";
import { fromValues, type StoredValue } from "./values.ts";

// etcd bounds an answer by the number of keys only, and a value may have more than a MiB. So the number asked
// for follows the size of the values in the answer before.

/** Keys asked for in the first answer, and the least and the most in later ones. */
const FIRST_KEYS = 32;
const LEAST_KEYS = 4;
const MOST_KEYS = 1_024;

/** Bytes that an answer is meant to have. */
const ANSWER_BYTES = 2 * 1024 * 1024;

/** One answer of the cluster. */
interface ScanAnswer {
  /** The revision that all answers of the scan show. */
  readonly revision: bigint;
  /** What the filter selects of the answer. */
  readonly selected: readonly StoredValue[];
  /** How many keys the answer has, selected or not. */
  readonly scanned: number;
  /** The last key of the answer, also when it was not selected. */
  readonly last: Uint8Array | undefined;
  readonly isLast: boolean;
}

/** Where a scan begins, if not at its beginning and now. */
export interface ScanStart {
  readonly revision: bigint;
  /** The key before the first. */
  readonly after: Uint8Array;
}

/** The answers of a scan over what a filter selects, or over all, at one revision; at least one. */
export async function* scanValues(
  client: EtcdClient,
  layout: Layout,
  filter: ResourceFilter | undefined,
  start?: ScanStart,
): AsyncGenerator<ScanAnswer, undefined> {
  let range: KeyRange = filter === undefined ? layout.resources : layout.candidates(filter);
  let revision = start?.revision ?? 0n;
  let keys = FIRST_KEYS;
  if (start !== undefined) {
    const key = keyAfter(start.after);
    // A key in front of the range comes from a forged continuation.
    if (Buffer.compare(key, range.key) > 0) range = { key, rangeEnd: range.rangeEnd };
    if (Buffer.compare(range.key, range.rangeEnd) >= 0) {
      yield { revision, selected: [], scanned: 0, last: undefined, isLast: true };
      return;
    }
  }
  for (;;) {
    const request = RangeRequest.create({ ...range, limit: BigInt(keys), revision });
    const { header, kvs, more } = await client.range(request);
    if (revision === 0n) revision = header?.revision ?? 0n;
    const selected = kvs.filter(
      (kv) => filter === undefined || selects(filter, layout.identity(kv.key)),
    );
    const last = kvs.at(-1)?.key;
    const isLast = !more || last === undefined;
    yield { revision, selected, scanned: kvs.length, last, isLast };
    if (isLast) return;
    range = { key: keyAfter(last), rangeEnd: range.rangeEnd };
    const bytes = kvs.reduce((sum, kv) => sum + kv.value.byteLength, 0);
    const fitting = Math.floor((ANSWER_BYTES * kvs.length) / Math.max(1, bytes));
    keys = Math.min(MOST_KEYS, Math.max(LEAST_KEYS, Math.min(fitting, keys * 4)));
  }
}

/** Some resources, and the revision that all pages of the scan show. */
interface ScanPage {
  readonly revision: bigint;
  readonly resources: readonly Resource[];
}

/**
 * Pages of the resources that a filter selects, or of all, at one revision. Gives at least one page.
 * The cluster may forget the revision before the last page: then it fails.
 */
export async function* scanResources(
  client: EtcdClient,
  layout: Layout,
  filter: ResourceFilter | undefined,
  onDamaged?: (damaged: DamagedResource) => void,
): AsyncGenerator<ScanPage, undefined> {
  for await (const { revision, selected } of scanValues(client, layout, filter)) {
    yield { revision, resources: fromValues(layout, selected, onDamaged) };
  }
}

function selects(filter: ResourceFilter, identity: string): boolean {
  const { tenancy, name } = splitKey(identity);
  return tenancyMatches(filter.tenancy, tenancy) && name.startsWith(filter.namePrefix);
}
