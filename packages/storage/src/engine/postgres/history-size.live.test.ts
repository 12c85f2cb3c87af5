import postgres from "postgres";
import { expect, test } from "vitest";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";

const [server] = postgresServers();

test("the size of the history in PostgreSQL is known", { timeout: 90_000 }, async (context) => {
  if (server === undefined) {
    context.skip(true, "TEST_POSTGRES_URL names no server");
    return;
  }
  const { url } = server;
  const schema = await createSchema(url);
  try {
    const history = { events: 4 };
    await using storage = await createPostgresStorage({ url, schema: schema.name, history });
    expect(await storage.historySize()).toEqual({ events: 0, bytes: 0 });
    let stored = await storage.writeCAS(sample(A1, HOME, "web"));
    const { events, bytes } = await storage.historySize();
    expect(events).toBe(1);
    expect(bytes).toBeGreaterThan(10);
    for (let count = 0; count < 9; count += 1) stored = await storage.writeCAS(stored);
    // The instance cuts its history by itself too, and of two at once one does nothing.
    const sizeOfCut = async (): Promise<number> => {
      await storage.compactHistory();
      return (await storage.historySize()).events;
    };
    await expect.poll(sizeOfCut, { timeout: 60_000 }).toBe(4);
    expect((await storage.historySize()).bytes).toBeLessThan(8 * bytes);
  } finally {
    await schema.drop();
  }
});

test("history in PostgreSQL that is too old by its server is forgotten, also where nothing is written", {
  timeout: 150_000,
}, async (context) => {
  if (server === undefined) {
    context.skip(true, "TEST_POSTGRES_URL names no server");
    return;
  }
  const { url } = server;
  const schema = await createSchema(url);
  const admin = postgres(url, { max: 1, connection: { search_path: schema.name } });
  try {
    await using writer = await createPostgresStorage({ url, schema: schema.name });
    let stored = await writer.writeCAS(sample(A1, HOME, "web"));
    for (let count = 0; count < 2; count += 1) stored = await writer.writeCAS(stored);
    await admin`UPDATE event SET at = at - interval '1 hour'`;
    const young = await writer.writeCAS(stored);
    const hourOld = await writer.historySize();
    expect(hourOld.events).toBe(4);
    expect(hourOld.oldestMs).toBeLessThan((await writer.serverMs()) - 3_599_000);

    // An instance that writes nothing and has just begun.
    const history = { maxAgeMs: 600_000 };
    await using keeper = await createPostgresStorage({ url, schema: schema.name, history });
    const events = async (): Promise<number> => (await keeper.historySize()).events;
    await expect.poll(events, { timeout: 60_000 }).toBe(1);
    expect((await keeper.historySize()).oldestMs).toBeGreaterThan(
      (await keeper.serverMs()) - 600_000,
    );

    // What a clock that was ahead has dated gets the time at which that is found out.
    await admin`UPDATE event SET at = at + interval '3 days'`;
    await writer.writeCAS(young);
    const oldest = async (): Promise<number> => {
      await keeper.compactHistory();
      const ahead = (await keeper.historySize()).oldestMs ?? Number.POSITIVE_INFINITY;
      return ahead - (await keeper.serverMs());
    };
    // Of two instances that compact at once one does nothing.
    await expect.poll(oldest, { timeout: 60_000 }).toBeLessThan(1);
    expect(await events()).toBe(2);
  } finally {
    await admin.end();
    await schema.drop();
  }
});

test("instances that are given no bounds keep to those of the store in PostgreSQL", {
  timeout: 90_000,
}, async (context) => {
  if (server === undefined) {
    context.skip(true, "TEST_POSTGRES_URL names no server");
    return;
  }
  const { url } = server;
  const schema = await createSchema(url);
  const admin = postgres(url, { max: 1, connection: { search_path: schema.name } });
  try {
    const at = { url, schema: schema.name };
    await using owner = await createPostgresStorage({ ...at, history: { events: 20_000 } });
    await owner.writeCAS(sample(A1, HOME, "first"));
    // More than an instance keeps by itself, as if it had been written one by one.
    await admin`INSERT INTO event (revision, operation, version, written, body)
      SELECT s.revision + n, e.operation, e.version, s.written, e.body
      FROM store s, event e, generate_series(1, 18000) n`;
    await admin`UPDATE store SET revision = revision + 18000`;
    /** What a command leaves of the history. */
    const eventsAfter = async (name: string): Promise<number> => {
      await using command = await createPostgresStorage({ ...at, migrate: false });
      await command.writeCAS(sample(A1, HOME, name));
      await command.compactHistory();
      return (await command.historySize()).events;
    };
    expect(await eventsAfter("second")).toBe(18_002);
    // Another server decides for all, also for those that are open.
    await using next = await createPostgresStorage({ ...at, history: { events: 100 } });
    await expect
      .poll(async () => eventsAfter(`n${performance.now()}`), { timeout: 60_000 })
      .toBe(100);
    await next.close();
    await owner.writeCAS(sample(A1, HOME, "third"));
    await owner.compactHistory();
    expect((await owner.historySize()).events).toBe(100);
    const bounds = { events: 100, bytes: 64 * 1024 * 1024, maxAgeMs: undefined };
    expect(await owner.historyBounds()).toEqual(bounds);
  } finally {
    await admin.end();
    await schema.drop();
  }
});
