import { describe, expect, test } from "vitest";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { createPostgresStorage } from "../postgres.ts";

const servers = postgresServers();

if (servers.length === 0) {
  describe("the time of a PostgreSQL server", () => {
    test("is that of its clock", (context) => {
      context.skip(true, "TEST_POSTGRES_URL names no server");
    });
  });
}

for (const { name, url } of servers) {
  test(`the time of ${name} is that of its clock, and passes`, async () => {
    const schema = await createSchema(url);
    try {
      await using storage = await createPostgresStorage({ url, schema: schema.name });
      const first = await storage.serverMs();
      // The servers of tests are on this machine.
      expect(Math.abs(first - Date.now())).toBeLessThan(60_000);
      expect(await storage.serverMs()).toBeGreaterThan(first);
      await expect(storage.serverMs({ signal: AbortSignal.abort() })).rejects.toThrow();
    } finally {
      await schema.drop();
    }
  });
}
