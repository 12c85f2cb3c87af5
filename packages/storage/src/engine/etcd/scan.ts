import { RangeRequest, type RangeResponse } from "@stackwright/proto/etcd";
import { decodeResource } from "../../codec.ts";
import { type ResourceFilter, tenancyMatches } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import { splitKey } from "../../scan.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { type KeyRange, keyAfter, type Layout } from "./layout.ts";

/** Resources fetched at a time. */
const PAGE = 256;

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
): AsyncGenerator<ScanPage> {
  let range: KeyRange = filter === undefined ? layout.resources : layout.candidates(filter);
  let revision = 0n;
  for (;;) {
    const request = RangeRequest.create({ ...range, limit: BigInt(PAGE), revision });
    const answer: RangeResponse = await client.range(request);
    if (revision === 0n) revision = answer.header?.revision ?? 0n;
    const selected = answer.kvs.filter(
      (kv) => filter === undefined || selects(filter, layout.identity(kv.key)),
    );
    yield {
      revision,
      resources: selected.map((kv) => decodeResource(kv.value, layout.versionOf(kv))),
    };
    const last = answer.kvs.at(-1);
    if (!answer.more || last === undefined) return;
    range = { key: keyAfter(last.key), rangeEnd: range.rangeEnd };
  }
}

function selects(filter: ResourceFilter, identity: string): boolean {
  const { tenancy, name } = splitKey(identity);
  return tenancyMatches(filter.tenancy, tenancy) && name.startsWith(filter.namePrefix);
}
