import { RpcError } from "@stackwright/proto/grpc";
import { CHECKSUM_BYTES } from "../../checked-body.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";
import {
  type Continuation,
  formatContinuation,
  type ListContent,
  listExpired,
  parseContinuation,
  queryDigest,
} from "../../list/continuation.ts";
import { PageMeter, resolvePageBounds } from "../../list/page-bounds.ts";
import { cutBody } from "../../list/resource-head.ts";
import type { ListPageOptions } from "../../list/types.ts";
import type { EtcdWatchContext } from "./open-watch.ts";
import { type ScanStart, scanValues } from "./scan.ts";
import type { StoredValue } from "./values.ts";

/** Keys that a page looks at, selected or not, before it ends and lets the next one continue. */
const MOST_SCANNED = 20_000;

/** What an answer of the cluster counts at least, as one with few keys takes a round trip too. */
const LEAST_SCANNED = 32;

/** A page of a list, in values. */
interface ListedValues {
  readonly values: readonly StoredValue[];
  readonly continuation?: string;
}

/**
 * A page of what a filter selects. The cluster itself holds the revision of a list, until it is
 * compacted; so any instance can give the next page.
 */
export async function listValues(
  { client, layout, epoch }: EtcdWatchContext,
  content: ListContent,
  filter: ResourceFilter,
  options: ListPageOptions,
): Promise<ListedValues> {
  const meter = new PageMeter(resolvePageBounds(options));
  const query = queryDigest(content, filter);
  const start =
    options.continueAfter === undefined
      ? undefined
      : toStart(parseContinuation(options.continueAfter, epoch, query));
  const values: StoredValue[] = [];
  let scanned = 0;
  const endAfter = (revision: bigint, key: Uint8Array): ListedValues => {
    const after = Buffer.from(key).toString("utf8");
    return {
      values,
      continuation: formatContinuation({ epoch, list: String(revision), query, after }),
    };
  };
  try {
    for await (const answer of scanValues(client, layout, filter, start)) {
      for (const value of answer.selected) {
        const last = values.at(-1);
        if (!meter.take(measure(value, content)) && last !== undefined) {
          return endAfter(answer.revision, last.key);
        }
        values.push(value);
      }
      scanned += Math.max(LEAST_SCANNED, answer.scanned);
      if (answer.isLast || answer.last === undefined) break;
      if (scanned >= MOST_SCANNED) return endAfter(answer.revision, answer.last);
    }
  } catch (error) {
    if (!isRevisionGone(error)) throw error;
    throw listExpired("the cluster does not have the store revision of the list");
  }
  return { values };
}

function measure({ value }: StoredValue, content: ListContent): number {
  // As all engines count it: without the checksum, which values of earlier releases do not have.
  if (content === "resources") return value.byteLength - CHECKSUM_BYTES;
  try {
    return cutBody(value, value.byteLength)?.envelope.byteLength ?? 0;
  } catch (error) {
    // It is not given out, or ends the list where it is decoded.
    if (isStorageError(error, "STORAGE_CORRUPT")) return 0;
    throw error;
  }
}

function toStart({ list, after }: Continuation): ScanStart {
  if (/^[1-9]\d{0,17}$/.test(list)) return { revision: BigInt(list), after: Buffer.from(after) };
  throw new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    "continueAfter is not a continuation of a list",
    { details: { field: "continueAfter" } },
  );
}

/** Compacted, or never reached: then the cluster has lost it. */
function isRevisionGone(error: unknown): boolean {
  if (!(error instanceof StorageError) || !(error.cause instanceof RpcError)) return false;
  const { code, rawMessage } = error.cause;
  return code === "OUT_OF_RANGE" && rawMessage.includes("required revision");
}
