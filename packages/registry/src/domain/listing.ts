import type {
  PrivateProvider as ProviderMessage,
  PrivateProviderVersion as VersionMessage,
} from "@stackwright/proto/stackwright";
import type { CallOptions, Tenancy } from "@stackwright/storage";
import { invalidField } from "../errors.ts";
import { accountAt, PROVIDER_ENTRY_KIND, SEQUENCE_DIGITS, VERSION_KIND } from "./kinds.ts";
import { formatMarker, type PagePosition, parseMarker } from "./marker.ts";
import {
  type PrivateProvider,
  type PrivateProviderVersion,
  providerOf,
  versionOf,
} from "./model.ts";
import type { RegistryParts } from "./parts.ts";
import { type ProviderName, readProvider } from "./providers.ts";
import type { RecordStore } from "./record-store.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";

/** Order of a list: by creation time, and by the order of creation where times are equal. */
export type SortDirection = "asc" | "desc";

/** What part of a list is wanted. */
export interface PageRequest {
  /** @default "desc" */
  readonly sort?: SortDirection | undefined;
  /** 10 to 1000. @default 1000 */
  readonly limit?: number | undefined;
  /** From an earlier page of the same list, order and limit. */
  readonly marker?: string | undefined;
}

/** A part of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Leads to the items behind these; undefined at the end. */
  readonly next: string | undefined;
  /** Leads to the items before these; undefined at the beginning. */
  readonly previous: string | undefined;
}

export const PAGE_LIMITS = Object.freeze({ min: 10, max: 1000 });

/** Providers of an account, page by page. Throws `REGISTRY_MARKER_INVALID`, `REGISTRY_INVALID_FIELD`. */
export async function listProviders(
  parts: RegistryParts,
  scope: RegistryScope,
  request: PageRequest,
  markerKey: Uint8Array,
  options: CallOptions = {},
): Promise<Page<PrivateProvider>> {
  const tenancy = scopeTenancy(scope);
  const account = await parts.records.read(accountAt(tenancy), options);
  const total = account?.value.providerCount ?? 0n;
  const end = account?.value.nextSequence ?? 0n;
  const scan: Scan<ProviderMessage> = (from, direction, limit) =>
    scanProviders(parts.records, tenancy, { from, direction, limit, total, end }, options);
  return page(parts, pageOf(request, `providers\0${listKey(scope)}`), markerKey, scan, (x) =>
    providerOf(x),
  );
}

/**
 * Versions of a provider, page by page. Throws as {@link listProviders}, and
 * `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_ID_MISMATCH`.
 */
export async function listVersions(
  parts: RegistryParts,
  scope: RegistryScope,
  provider: ProviderName,
  request: PageRequest,
  markerKey: Uint8Array,
  options: CallOptions = {},
): Promise<Page<PrivateProviderVersion>> {
  const tenancy = scopeTenancy(scope);
  const { providerId } = (await readProvider(parts, tenancy, provider, options)).value;
  const scan: Scan<VersionMessage> = async (from, direction, limit) => {
    const all = await parts.records.list(VERSION_KIND, tenancy, `${providerId}/`, options);
    return ordered(
      all.map(({ value }) => value),
      from,
      direction,
    ).slice(0, limit);
  };
  const key = `versions\0${listKey(scope)}\0${providerId}`;
  return page(parts, pageOf(request, key), markerKey, scan, versionOf);
}

interface ResolvedPage {
  readonly sort: SortDirection;
  readonly limit: number;
  readonly marker: string | undefined;
  /** What the marker is bound to. */
  readonly binding: string;
}

function listKey({ account, region }: RegistryScope): string {
  return `${account}\0${region}`;
}

function pageOf({ sort = "desc", limit, marker }: PageRequest, list: string): ResolvedPage {
  const { min, max } = PAGE_LIMITS;
  const count = limit ?? max;
  if (!Number.isInteger(count) || count < min || count > max) {
    throw invalidField("limit", "out-of-range", `limit is a whole number from ${min} to ${max}`);
  }
  return { sort, limit: count, marker, binding: `${list}\0${sort}\0${count}` };
}

/** Up to `limit` items strictly beyond `from` (from the end of the list if undefined). */
type Scan<T> = (
  from: bigint | undefined,
  direction: SortDirection,
  limit: number,
) => Promise<readonly T[]>;

async function page<T extends { readonly sequence: bigint }, U>(
  parts: RegistryParts,
  request: ResolvedPage,
  markerKey: Uint8Array,
  scan: Scan<T>,
  convert: (item: T) => U,
): Promise<Page<U>> {
  const { sort, limit, marker, binding } = request;
  const nowMs = parts.clock.wallMs();
  const start = marker === undefined ? undefined : parseMarker(markerKey, binding, marker, nowMs);
  const backwards = start?.direction === "before";
  const found = await scan(start?.sequence, backwards ? opposite(sort) : sort, limit + 1);
  const more = found.length > limit;
  const items = backwards ? found.slice(0, limit).toReversed() : found.slice(0, limit);
  const [first, last] = [items[0], items.at(-1)];
  const mark = (direction: PagePosition["direction"], item: T | undefined): string | undefined =>
    item && formatMarker(markerKey, binding, { direction, sequence: item.sequence }, nowMs);
  return {
    items: items.map(convert),
    next: backwards || more ? mark("after", last) : undefined,
    previous: (backwards ? more : start !== undefined) ? mark("before", first) : undefined,
  };
}

function opposite(sort: SortDirection): SortDirection {
  return sort === "asc" ? "desc" : "asc";
}

/** The items beyond a place, in one direction. */
function ordered<T extends { readonly sequence: bigint }>(
  items: readonly T[],
  from: bigint | undefined,
  direction: SortDirection,
): readonly T[] {
  const sign = direction === "asc" ? 1 : -1;
  return items
    .filter(
      ({ sequence }) =>
        from === undefined || (direction === "asc" ? sequence > from : sequence < from),
    )
    .toSorted((a, b) => (a.sequence < b.sequence ? -sign : sign));
}

interface ProviderScan {
  readonly from: bigint | undefined;
  readonly direction: SortDirection;
  readonly limit: number;
  /** Providers that exist. */
  readonly total: bigint;
  /** No sequence is this or higher. */
  readonly end: bigint;
}

/** Hexadecimal digits of the sequences in one read of the store: blocks of 16 to 4096. */
const BLOCK_DIGITS = Object.freeze({ least: 1, normal: 2, most: 3 });

// The store lists by prefix, not by range. Sequences are numbers of fixed width in base 16, so the records with one
// prefix are those of one block of 16^n sequences. A page reads block after block, from where it begins, until it is
// full: it costs what it shows, regardless of the size of the account. A short page begins with small blocks; an
// account with few providers is read at once. Where a block turns out nearly empty, because most of its providers were
// deleted, the next one is larger.

/** Records of the order of creation, from a place on. */
async function scanProviders(
  records: RecordStore,
  tenancy: Tenancy,
  scan: ProviderScan,
  options: CallOptions,
): Promise<readonly ProviderMessage[]> {
  const { from, direction, limit, total, end } = scan;
  const rising = direction === "asc";
  /** The place beyond which to read on: all before it are in the result. */
  let beyond = from ?? (rising ? -1n : end);
  const read = async (prefix: string): Promise<readonly ProviderMessage[]> => {
    const found = await records.list(PROVIDER_ENTRY_KIND, tenancy, prefix, options);
    return ordered(
      found.map(({ value }) => value),
      beyond,
      direction,
    );
  };
  if (total <= 16n ** BigInt(BLOCK_DIGITS.normal)) return (await read("")).slice(0, limit);

  const result: ProviderMessage[] = [];
  const first = limit <= 32 ? BLOCK_DIGITS.least : BLOCK_DIGITS.normal;
  let digits: number = first;
  for (;;) {
    const at = rising ? beyond + 1n : beyond - 1n;
    if (at < 0n || at >= end || result.length >= limit) break;
    const shift = BigInt(4 * digits);
    const block = at >> shift;
    const found = await read(block.toString(16).padStart(SEQUENCE_DIGITS - digits, "0"));
    result.push(...found);
    beyond = rising ? ((block + 1n) << shift) - 1n : block << shift;
    const isSparse = found.length < 16 ** digits / 4;
    digits = isSparse ? Math.min(digits + 1, BLOCK_DIGITS.most) : first;
  }
  return result.slice(0, limit);
}
