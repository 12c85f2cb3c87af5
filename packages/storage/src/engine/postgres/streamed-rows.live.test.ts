import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSame, nextEvent, nextUpsert } from "../../testing/assertions.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, payload, sample } from "../../testing/samples.ts";
import type { Watch } from "../../types.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";
import { Connections, resolveConnectionOptions } from "./connections.ts";
import { DurableReads } from "./durable-reads.ts";
import { RowStreams } from "./streamed-rows.ts";

const server = postgresServers().at(-1);

const COPIES = 2_100;

describe.skipIf(server === undefined)("the snapshot of a watch in PostgreSQL", () => {
  const url = server?.url ?? "";
  let schema: Awaited<ReturnType<typeof createSchema>>;
  let admin: postgres.Sql;
  let storage: PostgresStorage;

  beforeEach(async () => {
    schema = await createSchema(url);
    admin = postgres(url, {
      max: 1,
      onnotice: () => undefined,
      connection: { search_path: schema.name },
    });
    storage = await createPostgresStorage({ url, schema: schema.name });
    await storage.writeCAS(sample(A1, HOME, "web", { data: payload("x".repeat(100)) }));
    await admin`
      INSERT INTO resource (grp, kind, partition, peer_name, namespace, name, uid, version, owner, body)
      SELECT grp, kind, partition, peer_name, namespace, 'copy' || lpad(i::text, 7, '0'), uid, version,
        owner, body
      FROM resource CROSS JOIN generate_series(1, ${COPIES}) AS i`;
  });

  afterEach(async () => {
    await storage.close();
    await admin.end();
    await schema.drop();
  });

  /** Transactions of the store that wait for their next statement. */
  const openTransactions = async (): Promise<number> => {
    const [row] = await admin<{ count: number }[]>`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE state = 'idle in transaction' AND query LIKE '%WITH found%'`;
    return row?.count ?? 0;
  };

  const readSnapshot = async (watch: Watch): Promise<number> => {
    let count = 0;
    while ((await nextEvent(watch)).operation === "upsert") count += 1;
    return count;
  };

  test("is fetched as it is consumed, at one revision, whatever is written meanwhile", async () => {
    using watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
    await nextUpsert(watch);
    expect(await openTransactions()).toBe(1);
    const written: Resource[] = [];
    for (let count = 0; count < 20; count += 1) {
      written.push(await storage.writeCAS(sample(A1, HOME, `zz${count}`)));
    }
    const [last] = await storage.list("strong", A1, HOME, "web");
    if (last === undefined) throw new Error("it is stored");
    await storage.deleteCAS(last.id, last.version);
    expect(await readSnapshot(watch)).toBe(COPIES);
    for (const one of written) assertSame(await nextUpsert(watch), one);
    expect(await nextEvent(watch)).toMatchObject({ operation: "delete", resource: last });
    await expect.poll(openTransactions).toBe(0);
  });

  test("is freed when its watch is closed, and when the caller of the watch gives up", async () => {
    const watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
    await nextUpsert(watch);
    watch.close();
    await expect.poll(openTransactions).toBe(0);
    const giving = new AbortController();
    const opening = storage.watchList(A1, HOME, "", { signal: giving.signal });
    giving.abort(new Error("given up"));
    await expect(opening).rejects.toThrow("given up");
    await expect.poll(openTransactions).toBe(0);
    // The signal is of the call, not of the watch.
    const later = new AbortController();
    using other = await storage.watchList(A1, HOME, "", {
      endOfSnapshot: true,
      signal: later.signal,
    });
    later.abort();
    expect(await readSnapshot(other)).toBe(COPIES + 1);
  });

  test("does not wait for others: more than are streamed are opened, then read one by one", async () => {
    const watches: Watch[] = [];
    for (let count = 0; count < 20; count += 1) {
      watches.push(await storage.watchList(A1, HOME, "", { endOfSnapshot: true }));
    }
    await expect.poll(openTransactions).toBe(16);
    for (const watch of watches) {
      expect(await readSnapshot(watch)).toBe(COPIES + 1);
      watch.close();
    }
  }, 60_000);

  test("ends when its consumer pauses for too long, and its transaction with it", async () => {
    const connections = new Connections(
      resolveConnectionOptions({ url, schema: schema.name, connections: 1 }),
    );
    const streams = new RowStreams(connections, new DurableReads(connections), 100);
    const stream = await streams.open({ kind: "all" }, undefined);
    expect(await stream.next()).not.toHaveLength(0);
    await delay(300);
    await assertCode(stream.next(), "STORAGE_INCONSISTENT");
    await expect.poll(openTransactions).toBe(0);
    await connections.close();
  });
});
