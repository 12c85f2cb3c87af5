import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { nextUpsert } from "../../testing/assertions.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage, type PostgresStorageOptions } from "../postgres.ts";

const MIB = 1024 * 1024;

/** The newest server, or what there is. */
const server = postgresServers().at(-1);

/** A store of its own, and a session beside it. */
async function openStore() {
  const url = server?.url ?? "";
  const schema = await createSchema(url);
  const admin = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    connection: { search_path: schema.name },
  });
  return {
    admin,
    open: (options: Partial<PostgresStorageOptions> = {}) =>
      createPostgresStorage({ url, schema: schema.name, ...options }),
    [Symbol.asyncDispose]: async () => {
      await admin.end();
      await schema.drop();
    },
  };
}

/** Stores copies of one resource under other names, faster than through the store. */
async function multiply(admin: postgres.Sql, count: number): Promise<void> {
  await admin`
    INSERT INTO resource (grp, kind, partition, peer_name, namespace, name, uid, version, owner, body)
    SELECT grp, kind, partition, peer_name, namespace, 'copy' || lpad(i::text, 7, '0'), uid, version,
      owner, body
    FROM resource CROSS JOIN generate_series(1, ${count}) AS i`;
}

const large = (name: string, bytes: number) =>
  sample(A1, HOME, name, { data: { typeUrl: "t", value: new Uint8Array(bytes).fill(7) } });

describe.skipIf(server === undefined)("large content in postgres", () => {
  test("of more rows than a statement could give in its time opens watches and lists", async () => {
    await using store = await openStore();
    await using storage = await store.open({ timeoutMs: 2_000 });
    await storage.writeCAS(large("web", 1024));
    await multiply(store.admin, 400_000);
    using watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
    let count = 0;
    while ((await watch.next()).operation === "upsert") count += 1;
    expect(count).toBe(400_001);
    const later = await storage.writeCAS(large("later", 10));
    expect((await nextUpsert(watch)).version).toBe(later.version);
    expect(await storage.list("strong", A1, HOME, "copy00")).toHaveLength(99_999);
    await using snapshot = await storage.snapshot();
    let stored = 0;
    for await (const _ of snapshot) {
      stored += 1;
      if (stored === 5_000) break;
    }
    expect(stored).toBe(5_000);
  }, 600_000);

  test("of more bytes than a statement could give in its time is resumed, listed and followed", async () => {
    await using store = await openStore();
    const history = { bytes: 1024 * MIB };
    await using storage = await store.open({ history });
    using first = await storage.watchList(A1, HOME, "");
    await storage.writeCAS(large("start", 1));
    const { cursor } = await first.next();
    first.close();
    for (let count = 0; count < 40; count += 1) {
      await storage.writeCAS(large(`large${count}`, 7 * MIB));
    }
    await using other = await store.open({ history, timeoutMs: 2_500 });
    using resumed = await other.watchList(A1, HOME, "", { resumeAfter: cursor ?? "" });
    for (let count = 0; count < 40; count += 1) {
      expect((await nextUpsert(resumed)).id.name).toBe(`large${count}`);
    }
    expect(await other.list("strong", A1, HOME, "large")).toHaveLength(40);
  }, 180_000);

  test("at the limit of a batch is written, though it takes longer than a small write may", async () => {
    await using store = await openStore();
    const timeoutMs = 4_000;
    await using storage = await store.open({ timeoutMs });
    // Every write takes longer than the time of a small one.
    await store.admin.unsafe(`
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(4.5); RETURN NULL; END';
      CREATE TRIGGER wait AFTER INSERT ON resource FOR EACH ROW WHEN (NEW.name = 'batch0')
        EXECUTE FUNCTION wait();
    `);
    const batch = [7, 7, 7, 7, 3].map((mib, at) => large(`batch${at}`, mib * MIB));
    const written = await storage.batch(
      batch.map((resource) => ({ kind: "write", resource }) as const),
    );
    expect(written).toHaveLength(5);
    const { version } = await storage.writeCAS(large("small", 1));
    expect(version).not.toBe("");
  }, 180_000);

  test("does not let the history grow: a bound in bytes, and processes of a few writes", async () => {
    await using store = await openStore();
    const open = () => store.open({ history: { events: 20, bytes: 8 * MIB } });
    for (let round = 0; round < 30; round += 1) {
      await using storage = await open();
      await storage.writeCAS(large(`short${round}`, 1));
      await storage.writeCAS(large(`other${round}`, 1));
    }
    const [short] = await store.admin`SELECT count(*)::int AS events FROM event`;
    expect(short?.events).toBeLessThanOrEqual(22);

    await using storage = await open();
    for (let count = 0; count < 30; count += 1) {
      await storage.writeCAS(large(`bytes${count}`, 2 * MIB));
    }
    await expect
      .poll(
        async () => {
          const [row] = await store.admin`SELECT sum(octet_length(body))::int AS bytes FROM event`;
          return row?.bytes;
        },
        { timeout: 5_000 },
      )
      .toBeLessThanOrEqual(12 * MIB);
  }, 120_000);
});
