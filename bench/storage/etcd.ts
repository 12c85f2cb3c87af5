import {
  Compare,
  Compare_CompareTarget,
  KVService,
  PutRequest,
  RequestOp,
  TxnRequest,
} from "@stackwright/proto/etcd";
import { createClient, openChannel } from "@stackwright/proto/grpc";
import { createEtcdStorage } from "@stackwright/storage/etcd";
import { casOperation, KEYS_PER_CALLER } from "./cas.ts";
import { watchLatency } from "./latency.ts";
import { compareCallers, type Effort, type Operation } from "./measure.ts";
import { printResults } from "./report.ts";
import { PAYLOAD_BYTES } from "./resources.ts";

/** Rates of the etcd engine against bare stubs; gives its row of the latency table. */
export async function benchEtcd(effort: Effort, endpoints: readonly string[]): Promise<string[]> {
  const root = `bench/${process.pid}/`;
  await using storage = await createEtcdStorage({ endpoints, root });
  await using channel = openChannel(new URL(endpoints[0] ?? "").host);
  const kv = createClient(KVService, channel);
  for (const writers of [1, 8, 32]) {
    const subjects = [
      {
        name: "bare stubs, compare and put",
        operation: await bareOperation(kv, root, writers),
        concurrency: writers,
      },
      {
        name: "etcd engine, CAS",
        operation: await casOperation(storage, writers, `w${writers}`),
        concurrency: writers,
      },
    ];
    printResults(`etcd, ${writers} writers`, await compareCallers(subjects, writers, effort));
  }
  return await watchLatency(storage);
}

async function bareOperation(
  kv: ReturnType<typeof createClient<typeof KVService>>,
  root: string,
  callers: number,
): Promise<Operation> {
  const value = Buffer.alloc(PAYLOAD_BYTES + 150);
  const write = async (name: string, expected: bigint): Promise<bigint> => {
    const key = Buffer.from(`${root}bare/${name}`);
    const put = PutRequest.create({ key, value });
    const request = TxnRequest.create({
      compare: [
        Compare.create({
          key,
          target: Compare_CompareTarget.MOD,
          targetUnion: { $case: "modRevision", value: expected },
        }),
      ],
      success: [RequestOp.create({ request: { $case: "requestPut", value: put } })],
    });
    const answer = await kv.txn(request, { timeoutMs: 5_000 });
    if (!answer.succeeded) throw new Error("the bare write was refused");
    return answer.header?.revision ?? 0n;
  };
  const versions = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const mine: bigint[] = [];
      for (let key = 0; key < KEYS_PER_CALLER; key += 1) {
        mine.push(await write(`${callers}-${caller}-${key}`, 0n));
      }
      return mine;
    }),
  );
  return async (caller, count) => {
    const mine = versions[caller] as bigint[];
    const key = count % KEYS_PER_CALLER;
    mine[key] = await write(`${callers}-${caller}-${key}`, mine[key] ?? 0n);
  };
}
