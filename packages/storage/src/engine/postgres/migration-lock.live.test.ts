import postgres from "postgres";
import { expect, test } from "vitest";
import { assertCode } from "../../testing/assertions.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage, readPostgresLayout } from "../postgres.ts";

const url = postgresServers()[0]?.url ?? "";

test.skipIf(url === "")(
  "a new layout waits for those who use the tables, lets others read meanwhile, and names them in the end",
  async () => {
    const schema = await createSchema(url);
    const connect = (name: string) =>
      postgres(url, {
        max: 1,
        onnotice: () => undefined,
        connection: { search_path: schema.name, application_name: name },
      });
    const reader = connect("a long report");
    const other = connect("another reader");
    const layout = async () => readPostgresLayout({ url, schema: schema.name });
    try {
      const none = await layout();
      expect(none.stored).toBe(0);
      await using storage = await createPostgresStorage({ url, schema: schema.name });
      expect(await layout()).toEqual({ ...none, stored: none.newest });
      await storage.writeCAS(sample(A1, HOME, "web"));
      // The store of a release before the time of events.
      await reader`DELETE FROM migration WHERE created_at >= 1795715536889`;
      await reader`ALTER TABLE event DROP COLUMN at`;
      await reader`DROP FUNCTION compact_history(bigint, bigint, bigint, integer, bigint)`;
      await reader`DROP FUNCTION redate_events(integer)`;
      await reader`DROP FUNCTION reset_sequences()`;
      await reader`DROP TABLE history_bounds`;

      // The release before had six steps. To look changes nothing.
      for (let times = 0; times < 2; times += 1) expect((await layout()).stored).toBe(6);
      await reader`BEGIN`;
      await reader`SELECT revision FROM event`;
      const options = { url, schema: schema.name, timeoutMs: 400 };
      const opening = createPostgresStorage(options);
      const refused = assertCode(opening, "STORAGE_LOCKED");
      let slowestMs = 0;
      const over = new AbortController();
      void refused.finally(() => over.abort());
      while (!over.signal.aborted) {
        const start = performance.now();
        await other`SELECT revision FROM event`;
        slowestMs = Math.max(slowestMs, performance.now() - start);
      }
      const { message, retryable } = await refused;
      expect(message).toMatch(
        /in use.*session \d+ \(a long report, idle in transaction, for \d+ s\)/,
      );
      expect(retryable).toBe(true);
      // As long as one attempt at most, not until the end.
      expect(slowestMs).toBeLessThan(2_000);

      const waiting = createPostgresStorage(options);
      await reader`COMMIT`;
      await using opened = await waiting;
      expect((await opened.readCommits(0)).commits).toHaveLength(1);
      expect((await layout()).stored).toBe(none.newest);
      await reader`INSERT INTO migration (hash, created_at) VALUES ('newer', 9999999999999)`;
      await assertCode(layout(), "STORAGE_SCHEMA");
    } finally {
      await reader.end({ timeout: 1 });
      await other.end({ timeout: 1 });
      await schema.drop();
    }
  },
  60_000,
);
