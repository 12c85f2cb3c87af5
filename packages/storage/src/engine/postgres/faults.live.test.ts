import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkEvents } from "../../testing/history/check-events.ts";
import { checkHistory } from "../../testing/history/check-history.ts";
import { readPostgresTable } from "../../testing/history/event-tables.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { type OwnServers, startOwnServers } from "../../testing/live/own-servers.ts";
import { TcpProxy } from "../../testing/live/tcp-proxy.ts";
import { runSeeds } from "../../testing/run-scale.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

// The soak multiplies the runs: 25 of 400 operations are the 10,000 per fault that are asked for.
const seeds = runSeeds(1);
const OPERATIONS = 400;

/** The oldest server there is, and the newest where that is another one. */
const SERVERS = [
  { name: "the oldest server", kind: ["postgres"], env: "TEST_SERVERS_MAIN" },
  {
    name: "the newest server",
    kind: ["postgres", "--newest"],
    env: "TEST_POSTGRES_NEWEST_URL",
  },
] as const;

interface Fault {
  readonly title: string;
  readonly strike: (parts: { admin: postgres.Sql; proxy: TcpProxy; server: OwnServers }) => void;
  readonly heal?: (server: OwnServers) => Promise<void>;
}

let restarting: Promise<void> = Promise.resolve();

const FAULTS: readonly Fault[] = [
  { title: "nothing happens", strike: () => undefined },
  {
    title: "sessions are terminated by the server",
    strike: ({ admin }) => {
      admin`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'stackwright-storage'`.catch(() => undefined);
    },
  },
  {
    title: "a backend is killed with SIGKILL",
    strike: ({ admin }) => {
      const kill = async (): Promise<void> => {
        const [row] = await admin`
          SELECT pid FROM pg_stat_activity
          WHERE application_name = 'stackwright-storage' ORDER BY state <> 'active' LIMIT 1`;
        if (row !== undefined) process.kill(Number(row.pid), "SIGKILL");
      };
      kill().catch(() => undefined);
    },
    heal: async ({ url = "" }) => accepting(url),
  },
  {
    title: "the server is killed with SIGKILL and starts again",
    strike: ({ server }) => {
      const restart = async (): Promise<void> => {
        await server.command("kill9 0");
        await server.command("restart 0");
      };
      restarting = restarting.then(restart);
    },
    heal: () => restarting,
  },
  { title: "connections are reset", strike: ({ proxy }) => proxy.cut() },
  { title: "connections are closed in one direction", strike: ({ proxy }) => proxy.halfClose() },
  { title: "answers are late", strike: ({ proxy }) => proxy.stall(1_000) },
];

/** Waits until a server takes connections: after the death of a session it recovers first. */
async function accepting(url: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const client = postgres(url, { max: 1, onnotice: () => undefined, connect_timeout: 5 });
        try {
          return (await client`SELECT 1 AS one`).length;
        } catch {
          return 0;
        } finally {
          await client.end({ timeout: 1 });
        }
      },
      { timeout: 30_000, interval: 100 },
    )
    .toBe(1);
}

describe.each(SERVERS)(
  "random histories of two postgres instances over $name",
  { retry: 0 },
  ({ kind, env }) => {
    let server: OwnServers | undefined;

    beforeAll(async () => {
      if (process.env[env] !== undefined) server = await startOwnServers(kind);
    });

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
    });

    for (const { title, strike, heal } of FAULTS) {
      test(
        `break no rule when ${title}`,
        async (context) => {
          if (server?.url === undefined) {
            context.skip(true, `${env} is not set: there is no such server to start`);
            return;
          }
          const own = server;
          const direct = new URL(own.url ?? "");
          await using proxy = await TcpProxy.start(Number(direct.port));
          const proxied = new URL(direct);
          proxied.port = String(proxy.port);
          const admin = postgres(direct.href, { max: 1, onnotice: () => undefined });
          for (const seed of seeds) {
            const schema = `faults_${process.pid}_${Math.random().toString(36).slice(2)}`;
            const instances: PostgresStorage[] = [];
            for (const url of [proxied.href, direct.href]) {
              instances.push(await createPostgresStorage({ url, schema, timeoutMs: 3_000 }));
            }
            const strikes = new Set([100, 180, 260]);
            const history = await runWorkload({
              instances,
              seed,
              operations: OPERATIONS,
              watches: 4,
              disturb: (operations) => {
                if (strikes.has(operations)) strike({ admin, proxy, server: own });
              },
              heal: async () => heal?.(own),
            });
            expect(checkHistory(history), `seed ${seed}`).toEqual([]);
            const table = await readPostgresTable(direct.href, schema);
            expect(checkEvents(history, table), `seed ${seed}`).toEqual([]);
            expect(history.writes.some((write) => write.result.kind === "ok")).toBe(true);
            for (const instance of instances) await instance.close();
          }
          await context.annotate(`${seeds.length * OPERATIONS} operations`, "count");
          await admin.end({ timeout: 1 });
        },
        60_000 * seeds.length,
      );
    }
  },
);
