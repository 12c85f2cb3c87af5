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
  /** Lets the store answer no one who comes that way for so long, as servers that ended do; resolves when it answers again. */
  lose(ms: number): Promise<void>;
  /** What can happen to the servers of the store, by name. */
  readonly faults: Readonly<Record<string, () => Promise<void>>>;
}

/** How long members of a cluster are away: shorter than a lease lasts, and longer. */
const AWAY_MS = 6_000;
const OVER_LEASE_MS = 18_000;
/** Members that are killed lose nothing by it, and a slow disk adds no outages to those that are meant. */
const WITHOUT_SYNC = ["--unsafe-no-fsync"];

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
    lose: async (ms) => proxy.refuse(ms),
    faults: {},
    [Symbol.asyncDispose]: async () => proxy[Symbol.asyncDispose](),
  };
}

/**
 * A cluster of its own with three members, of the program that `TEST_ETCD_BIN` names. One of them is lost at a time and comes back, or two:
 * then the third one takes connections, and answers nothing that needs the others.
 */
export async function startEtcdPlace(): Promise<CutStore | undefined> {
  const bin = process.env["TEST_ETCD_BIN"];
  if (bin === undefined) return undefined;
  await using started = new AsyncDisposableStack();
  const cluster = started.use(await startEtcd({ bin, members: 3, args: WITHOUT_SYNC }));
  const proxies: CutProxy[] = [];
  for (const endpoint of cluster.endpoints) {
    const { hostname: host, port } = new URL(endpoint);
    proxies.push(started.use(await startCutProxy({ host, port: Number(port) })));
  }
  const addressOf = (hosts: readonly string[]): string => `etcd://${hosts.join(",")}/soak`;
  let lost = 0;
  let healing: Promise<void> = Promise.resolve();
  /** Kills the next members and starts them again; those that are lost meanwhile are lost afterwards. */
  const loseMembers = async (count: number, ms: number): Promise<void> => {
    const before = healing;
    const loss = async (): Promise<void> => {
      await before;
      const members = Array.from({ length: count }, (_, index) => {
        return cluster.members[(lost + index) % cluster.members.length];
      });
      lost += count;
      await Promise.all(members.map(async (member) => member?.kill9()));
      await delay(ms);
      // Together: one alone is not ready without the other.
      await Promise.all(members.map(async (member) => member?.restart()));
    };
    healing = loss();
    await healing;
  };
  let quorums = 0;
  const owned = started.move();
  return {
    store: addressOf(cluster.endpoints.map((endpoint) => new URL(endpoint).host)),
    cutStore: addressOf(proxies.map(({ port }) => `127.0.0.1:${port}`)),
    cut: async (ms) => void (await Promise.all(proxies.map(async (proxy) => proxy.cut(ms)))),
    lose: async (ms) => loseMembers(2, ms),
    faults: {
      "lose a member of the store": async () => loseMembers(1, AWAY_MS),
      "lose the quorum of the store": async () => {
        quorums += 1;
        await loseMembers(2, quorums % 2 === 1 ? OVER_LEASE_MS : AWAY_MS);
      },
    },
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}
