import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { startEtcd } from "@stackwright-tools/servers";
import { type CutProxy, startCutProxy } from "./cut-proxy.ts";

/** A store with two ways to it, of which the second can be cut. Disposing ends what was started for it. */
interface CutStore extends AsyncDisposable {
  /** Address of the store. */
  readonly store: string;
  /** Its address by the way that can be cut. */
  readonly cutStore: string;
  /** Lets nothing through on that way for so long. */
  cut(ms: number): Promise<void>;
  /** What can happen to the servers of the store, by name. */
  readonly faults: Readonly<Record<string, () => Promise<void>>>;
}

/** How long a member of a cluster is away. */
const AWAY_MS = 6_000;

/** The database that `TEST_POSTGRES_URL` names. */
export async function startPostgresPlace(): Promise<CutStore | undefined> {
  const store = process.env["TEST_POSTGRES_URL"];
  if (store === undefined) return undefined;
  const database = new URL(store);
  const proxy = await startCutProxy({ host: database.hostname, port: Number(database.port) });
  const behind = new URL(store);
  behind.port = String(proxy.port);
  return {
    store,
    cutStore: behind.href,
    cut: async (ms) => proxy.cut(ms),
    faults: {},
    [Symbol.asyncDispose]: async () => proxy[Symbol.asyncDispose](),
  };
}

/** A cluster of its own with three members, of the program that `TEST_ETCD_BIN` names: one member at a time is lost and comes back. */
export async function startEtcdPlace(): Promise<CutStore | undefined> {
  const bin = process.env["TEST_ETCD_BIN"];
  if (bin === undefined) return undefined;
  await using started = new AsyncDisposableStack();
  const cluster = started.use(await startEtcd({ bin, members: 3 }));
  const proxies: CutProxy[] = [];
  for (const endpoint of cluster.endpoints) {
    const { hostname: host, port } = new URL(endpoint);
    proxies.push(started.use(await startCutProxy({ host, port: Number(port) })));
  }
  const addressOf = (hosts: readonly string[]): string => `etcd://${hosts.join(",")}/soak`;
  let lost = 0;
  const owned = started.move();
  return {
    store: addressOf(cluster.endpoints.map((endpoint) => new URL(endpoint).host)),
    cutStore: addressOf(proxies.map(({ port }) => `127.0.0.1:${port}`)),
    cut: async (ms) => void (await Promise.all(proxies.map(async (proxy) => proxy.cut(ms)))),
    faults: {
      "lose a member of the store": async () => {
        const member = cluster.members[lost % cluster.members.length];
        lost += 1;
        await member?.kill9();
        await delay(AWAY_MS);
        await member?.restart();
      },
    },
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}
