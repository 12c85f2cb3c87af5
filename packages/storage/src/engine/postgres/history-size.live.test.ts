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
