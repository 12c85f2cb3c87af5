import { RangeRequest } from "@stackwright/proto/etcd";
import type { DamagedResource } from "../../damaged-resource.ts";
import { KEY_SEPARATOR, type ResourceFilter } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import { scanStep, splitKey } from "../../scan.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { keyAfter, type Layout } from "./layout.ts";
import { ScanRange } from "./scan-range.ts";
import { fromValues, type StoredValue } from "./values.ts";

// etcd bounds an answer by the number of keys only, and a value may have more than a MiB. So the number asked
// for follows the size of the values in the answer before. Where most keys of an answer lie between those that the filter selects, the next
// one has few, as the scan goes on at the next key that may be selected.

/** Keys asked for in the first answer, and the least and the most in later ones. */
const FIRST_KEYS = 32;
const LEAST_KEYS = 4;
const MOST_KEYS = 1_024;

/** Bytes that an answer is meant to have. */
const ANSWER_BYTES = 2 * 1024 * 1024;

/** A scan that continues begins with the keys that share all but so many bytes with the last one: a uid, and a bit of the name. */
const CONTINUED_BYTES = 29;

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
  const range = new ScanRange(filter === undefined ? layout.resources : layout.candidates(filter));
  if (start !== undefined && start.after.byteLength > 0) {
    range.narrow(start.after.subarray(0, -CONTINUED_BYTES));
    // A key in front of the range comes from a forged continuation, and so may one behind it.
    range.jump(keyAfter(start.after));
  }
  let revision = start?.revision ?? 0n;
  let keys = FIRST_KEYS;
  for (;;) {
    const next = range.next;
    if (next === undefined) {
      yield { revision, selected: [], scanned: 0, last: undefined, isLast: true };
      return;
    }
    const request = RangeRequest.create({ ...next, limit: BigInt(keys), revision });
    const { header, kvs, more, count } = await client.range(request);
    if (revision === 0n) revision = header?.revision ?? 0n;
    const { selected, passed, behind } = select(layout, filter, kvs);
    const [first, last] = [kvs[0]?.key, kvs.at(-1)?.key];
    if (first !== undefined && last !== undefined) {
      range.advance(first, last, Number(count) - kvs.length);
      range.jump(keyAfter(last));
    }
    if (!more || last === undefined) range.exhaust();
    if (behind !== undefined) range.jump(behind);
    const isLast = range.next === undefined;
    if (last !== undefined || isLast) {
      yield { revision, selected, scanned: kvs.length, last, isLast };
    }
    if (isLast) return;
    if (passed * 2 > kvs.length) keys = LEAST_KEYS;
    else if (last !== undefined) keys = fittingKeys(keys, kvs);
  }
}

/** How many keys to ask for after an answer to `keys`. */
function fittingKeys(keys: number, kvs: readonly StoredValue[]): number {
  const bytes = kvs.reduce((sum, kv) => sum + kv.value.byteLength, 0);
  const fitting = Math.floor((ANSWER_BYTES * kvs.length) / Math.max(1, bytes));
  return Math.min(MOST_KEYS, Math.max(LEAST_KEYS, Math.min(fitting, keys * 4)));
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

/** What a filter selects of an answer, how many keys of it a scan that seeks would not have seen, and where it would go on. */
function select(
  layout: Layout,
  filter: ResourceFilter | undefined,
  kvs: readonly StoredValue[],
): {
  readonly selected: readonly StoredValue[];
  readonly passed: number;
  readonly behind?: Buffer;
} {
  if (filter === undefined) return { selected: [...kvs], passed: 0 };
  const selected: StoredValue[] = [];
  let passed = 0;
  let behind: Buffer | undefined;
  for (const kv of kvs) {
    if (behind !== undefined && Buffer.compare(kv.key, behind) < 0) {
      passed += 1;
      continue;
    }
    const identity = layout.identity(kv.key);
    const key = splitKey(identity.slice(0, identity.lastIndexOf(KEY_SEPARATOR)));
    const step = scanStep(filter, key, isBefore);
    behind = step === "take" ? undefined : layout.atIdentity(step.jump);
    if (step === "take") selected.push(kv);
  }
  return { selected, passed, ...(behind !== undefined && { behind }) };
}

/** The order of the keys: that of the UTF-8 bytes. */
function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}
