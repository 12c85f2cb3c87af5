import { type RangeRequest, RangeResponse } from "@stackwright/proto/etcd";
import { expect, test } from "vitest";
import { filterMatches, type ResourceFilter } from "../../key.ts";
import { type ResourceId, WILDCARD } from "../../resource.ts";
import { A1, B1, EVERYWHERE, HOME, sampleId } from "../../testing/samples.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { Layout } from "./layout.ts";
import { scanValues } from "./scan.ts";

const layout = new Layout("/");

/** A cluster that has the keys of some resources, and what it was made to do. */
class FakeCluster {
  requests = 0;
  /** Keys that were sent. */
  sent = 0;
  /** Keys that were counted. */
  counted = 0;
  readonly #keys: readonly Buffer[];

  constructor(ids: readonly ResourceId[]) {
    this.#keys = ids
      .map((id) => layout.resource(id))
      .sort((left, right) => Buffer.compare(left, right));
  }

  get client(): EtcdClient {
    return {
      range: async (request: RangeRequest) => this.#range(request),
    } as unknown as EtcdClient;
  }

  #range({ key, rangeEnd, limit }: RangeRequest): RangeResponse {
    const from = this.#firstAt(key);
    const end = this.#firstAt(rangeEnd);
    expect(from).toBeLessThanOrEqual(end);
    const until = Math.min(end, from + Number(limit));
    this.requests += 1;
    this.sent += until - from;
    this.counted += end - from;
    return RangeResponse.create({
      header: { clusterId: 1n, memberId: 1n, revision: 9n, raftTerm: 1n },
      kvs: this.#keys.slice(from, until).map((one) => ({ key: one, value: Buffer.alloc(100) })),
      more: until < end,
      count: BigInt(end - from),
    });
  }

  #firstAt(key: Uint8Array): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare(this.#keys[middle] as Buffer, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** What scans give, each of which continues behind the first `most` keys that the one before has looked at. */
async function scanned(
  cluster: FakeCluster,
  filter: ResourceFilter,
  most = Number.POSITIVE_INFINITY,
) {
  const found: string[] = [];
  let after: Uint8Array | undefined;
  for (;;) {
    let looked = 0;
    let isOver = true;
    const start = after === undefined ? undefined : { revision: 9n, after };
    for await (const { selected, last, isLast, scanned: keys } of scanValues(
      cluster.client,
      layout,
      filter,
      start,
    )) {
      found.push(...selected.map(({ key }) => layout.identity(key)));
      looked += keys;
      if (looked >= most && !isLast && last !== undefined) {
        after = last;
        isOver = false;
        break;
      }
    }
    if (isOver) return found;
  }
}

function idOf(namespace: string, name: string, type = A1): ResourceId {
  return sampleId(
    type,
    { ...HOME, namespace },
    name,
    `01J9ZC00000000000000${name.padStart(6, "0").slice(0, 6)}`,
  );
}

function many(namespaces: number, names: number, type = A1): ResourceId[] {
  return Array.from({ length: namespaces * names }, (_, at) =>
    idOf(
      `n${String(Math.floor(at / names)).padStart(4, "0")}`,
      `r${String(at % names).padStart(6, "0")}`,
      type,
    ),
  );
}

test.each([Number.POSITIVE_INFINITY, 1, 100])(
  "finds what is selected wherever it is, in scans of %d keys",
  async (most) => {
    const ids = [
      ...many(3, 50),
      ...many(40, 1, B1),
      ...["a", "a!", "ab", "b", "\u{10ffff}"].flatMap((namespace) =>
        ["net", "net-1", "n", "\u{10ffff}", "\u0001"].map((name) => idOf(namespace, name)),
      ),
      sampleId(A1, { ...HOME, partition: "z" }, "net"),
      sampleId(A1, { ...HOME, peerName: "remote" }, "net"),
    ];
    const cluster = new FakeCluster(ids);
    for (const type of [A1, B1]) {
      for (const tenancy of [
        HOME,
        EVERYWHERE,
        { ...HOME, namespace: WILDCARD },
        { ...EVERYWHERE, namespace: "ab" },
      ]) {
        for (const namePrefix of ["", "n", "net", "r00004", "zz"]) {
          const filter = { type, tenancy, namePrefix };
          const expected = ids
            .filter((id) => filterMatches(filter, { id }))
            .map((id) => layout.resource(id))
            .sort((left, right) => Buffer.compare(left, right))
            .map((key) => layout.identity(key));
          expect(await scanned(cluster, filter, most), JSON.stringify(filter)).toEqual(expected);
        }
      }
    }
  },
);

test("goes over names in other tenancies without having them sent", async () => {
  const cluster = new FakeCluster(many(10, 5_000));
  const filter = { type: A1, tenancy: EVERYWHERE, namePrefix: "r00300" };
  expect(await scanned(cluster, filter)).toHaveLength(100);
  expect(cluster.sent).toBeLessThan(1_500);
  expect(cluster.requests).toBeLessThan(100);
});

test("shares answers between small tenancies", async () => {
  const cluster = new FakeCluster(many(5_000, 1));
  expect(await scanned(cluster, { type: A1, tenancy: EVERYWHERE, namePrefix: "zz" })).toEqual([]);
  expect(cluster.requests).toBeLessThan(15);
});

test("does not let the cluster count what is left with each answer", async () => {
  const size = 100_000;
  const cluster = new FakeCluster(many(20, size / 20));
  const filter = { type: A1, tenancy: EVERYWHERE, namePrefix: "" };
  expect(await scanned(cluster, filter, 1_000)).toHaveLength(size);
  expect(cluster.counted).toBeLessThan(25 * size);
  expect(cluster.requests).toBeLessThan(800);
});
