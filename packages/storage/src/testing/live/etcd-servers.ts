import { CompactionRequest, KVService, RangeRequest } from "@stackwright/proto/etcd";
import { createClient, openChannel } from "@stackwright/proto/grpc";

/** A cluster that live tests may use. */
interface EtcdCluster {
  readonly name: string;
  readonly endpoints: readonly string[];
}

/** The clusters that the environment names. */
export function etcdClusters(): readonly EtcdCluster[] {
  const { TEST_ETCD_ENDPOINTS: single, TEST_ETCD_CLUSTER_ENDPOINTS: cluster } = process.env;
  const clusters: EtcdCluster[] = [];
  if (single !== undefined) clusters.push({ name: "etcd (one member)", endpoints: [single] });
  if (cluster !== undefined) {
    clusters.push({ name: "etcd (three members)", endpoints: cluster.split(",") });
  }
  return clusters;
}

/** Has a cluster forget all history. */
export async function compactEtcd(endpoints: readonly string[]): Promise<void> {
  await using channel = openChannel(new URL(endpoints[0] ?? "").host);
  const kv = createClient(KVService, channel, { timeoutMs: 10_000 });
  const { header } = await kv.range(RangeRequest.create({ key: Buffer.from("x") }));
  const request = CompactionRequest.create({ revision: header?.revision ?? 0n, physical: true });
  await kv.compact(request);
}
