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
