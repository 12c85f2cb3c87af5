import { setTimeout as delay } from "node:timers/promises";
import { MaintenanceService, StatusRequest } from "@stackwright/proto/etcd";
import { createClient, openChannel } from "@stackwright/proto/grpc";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/history/check-history.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { compactEtcd } from "../../testing/live/etcd-servers.ts";
import { type OwnServers, startOwnServers } from "../../testing/live/own-servers.ts";
import { TcpProxy } from "../../testing/live/tcp-proxy.ts";
import { runSeeds } from "../../testing/run-scale.ts";
import type { StorageBackend } from "../../types.ts";
import { createEtcdStorage } from "../etcd.ts";

// The soak multiplies the runs: 25 of 400 operations are the 10,000 per fault that are asked for.
const seeds = runSeeds(1);
const OPERATIONS = 400;

let cluster: OwnServers | undefined;

beforeAll(async () => {
  cluster = await startOwnServers(["etcd", "--members", "3", "--partitions"]);
});

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

/** The place of the leader among the members. */
async function leaderOf(endpoints: readonly string[]): Promise<number> {
  for (const [index, endpoint] of endpoints.entries()) {
    await using channel = openChannel(new URL(endpoint).host);
    const maintenance = createClient(MaintenanceService, channel, { timeoutMs: 1_000 });
    const status = await maintenance.status(StatusRequest.create({})).catch(() => undefined);
    if (status !== undefined && status.leader === status.header?.memberId) return index;
  }
  return 0;
}

let healing: Promise<void> = Promise.resolve();

/** Does something to the leader, and undoes it after a while. */
function strikeLeader(own: OwnServers, strike: string, undo: string): void {
  const run = async (): Promise<void> => {
    const leader = await leaderOf(own.endpoints);
    await own.command(`${strike} ${leader}`);
    await delay(1_500);
    await own.command(`${undo} ${leader}`);
  };
  healing = healing.then(run);
}

const FAULTS: readonly {
  readonly title: string;
  readonly strike: (own: OwnServers, proxies: readonly TcpProxy[]) => void;
}[] = [
  { title: "nothing happens", strike: () => undefined },
  {
    title: "the leader is killed with SIGKILL and starts again",
    strike: (own) => strikeLeader(own, "kill9", "restart"),
  },
  {
    title: "the leader is frozen for a while",
    strike: (own) => strikeLeader(own, "pause", "resume"),
  },
  {
    title: "the leader is cut off the others, and not off its clients",
    strike: (own) => strikeLeader(own, "isolate", "rejoin"),
  },
  {
    title: "connections are reset",
    strike: (_, proxies) => {
      for (const proxy of proxies) proxy.cut();
    },
  },
  {
    title: "answers are late",
    strike: (_, proxies) => {
      for (const proxy of proxies) proxy.stall(800);
    },
  },
  {
    title: "the history is compacted",
    strike: (own) => {
      healing = healing.then(() => compactEtcd(own.endpoints).catch(() => undefined));
    },
  },
];

describe("random histories of two etcd instances over three members", { retry: 0 }, () => {
  for (const { title, strike } of FAULTS) {
    test(
      `break no rule when ${title}`,
      async (context) => {
        if (cluster === undefined) {
          context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
          return;
        }
        const own = cluster;
        await using stack = new AsyncDisposableStack();
        const proxies: TcpProxy[] = [];
        for (const endpoint of own.endpoints) {
          proxies.push(stack.use(await TcpProxy.start(Number(new URL(endpoint).port))));
        }
        const proxied = proxies.map((proxy) => `http://127.0.0.1:${proxy.port}`);
        for (const seed of seeds) {
          const root = `faults/${process.pid}/${Math.random().toString(36).slice(2)}/`;
          const instances: StorageBackend[] = [];
          for (const endpoints of [proxied, own.endpoints]) {
            instances.push(await createEtcdStorage({ endpoints, root, timeoutMs: 3_000 }));
          }
          const strikes = new Set([100, 220]);
          const history = await runWorkload({
            instances,
            seed,
            operations: OPERATIONS,
            watches: 4,
            disturb: (operations) => {
              if (strikes.has(operations)) strike(own, proxies);
            },
            heal: () => healing,
          });
          expect(checkHistory(history), `seed ${seed}`).toEqual([]);
          expect(history.writes.some((write) => write.result.kind === "ok")).toBe(true);
          for (const instance of instances) await instance.close();
        }
        await context.annotate(`${seeds.length * OPERATIONS} operations`, "count");
      },
      60_000 * seeds.length,
    );
  }
});
