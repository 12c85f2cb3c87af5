import { readFileSync } from "node:fs";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Resource } from "../../resource.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import type { Watch } from "../../types.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

/** Instances that learn of a commit by hints alone. */
const NEVER = 3_600_000;
const ROUNDS = 12;
const CHANNEL = "stackwright_commit";

/** The lock of the writers. */
const WRITERS = "1398232948, to_regclass('store')::oid::integer";

describe.each(postgresServers())("$name: commits", { timeout: 60_000 }, ({ url }) => {
  let schema: Awaited<ReturnType<typeof createSchema>>;

  beforeEach(async () => {
    schema = await createSchema(url);
  });

  afterEach(async () => {
    await schema.drop();
  });

  const open = (pollMs = NEVER): Promise<PostgresStorage> =>
    createPostgresStorage({ url, schema: schema.name, pollMs });
  const bare = (): postgres.Sql =>
    postgres(url, { max: 1, connection: { search_path: schema.name }, onnotice: () => undefined });

  test("reach each instance that has begun to listen beside them, without a poll", async () => {
    await using writer = await open();
    let written = await writer.writeCAS(sample(A1, HOME, "one"));
    for (let round = 0; round < ROUNDS; round += 1) {
      await using reader = await open();
      const watch = await reader.watchList(A1, HOME, "");
      // More of them in each round, so that the listener comes into the midst of them.
      for (let write = 0; write <= round; write += 1) written = await writer.writeCAS(written);
      await seen(watch, written);
      // By then the instance listens.
      written = await writer.writeCAS(written);
      await seen(watch, written);
      watch.close();
    }
  });

  test("are not announced where no instance listens", async () => {
    const heard: string[] = [];
    const client = bare();
    await client.listen(CHANNEL, (payload) => heard.push(payload));
    const other = await open();
    await other.writeCAS(sample(A1, HOME, "one"));
    // An end waits for the announcements.
    await other.close();
    await client.notify(CHANNEL, "the end");
    await expect.poll(() => heard.at(-1)).toBe("the end");
    expect(heard.filter((payload) => payload.startsWith(`${schema.name} `))).toEqual([]);
    await client.end();
  });

  test("are not announced after the last watch has ended, and are again with the next", async () => {
    await using reader = await open(50);
    const client = bare();
    /** Sessions that hold the lock of those who listen. */
    const listeners = async (): Promise<number> => {
      const rows = await client`
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 1398232951
          AND objid = to_regclass('store')::oid`;
      return rows.length;
    };
    for (let round = 0; round < 2; round += 1) {
      const watch = await reader.watchList(A1, HOME, "");
      await expect.poll(listeners).toBe(1);
      await seen(watch, await reader.writeCAS(sample(A1, HOME, `of-${round}`)));
      watch.close();
      await expect.poll(listeners).toBe(0);
    }
    await client.end();
  });

  test("of a release before that were under way at the update of the layout are made", async () => {
    await (await open()).close();
    const [old, holder] = [bare(), bare()];
    await old.unsafe(statementsOf("0003_store_line", "CREATE FUNCTION apply_writes("));
    await old.unsafe(statementsOf("0005_write_alone", "CREATE PROCEDURE write_alone("));
    await old`DELETE FROM migration WHERE created_at = (SELECT max(created_at) FROM migration)`;
    const call =
      "CALL write_alone('{0}', '{1}', '{g}', '{K}', '{p}', '{l}', '{n}', $1, '{u}', $2, '{NULL}', $3, NULL)";
    const write = async (name: string): Promise<unknown> => {
      const [row] = await old.unsafe(call, [`{${name}}`, '{""}', '{"\\\\x00"}']);
      return row?.p_outcome;
    };
    expect(await write("before")).toBe("[[1, 0, 1]]");
    await holder.unsafe(`SELECT pg_advisory_lock(${WRITERS})`);
    const waiting = write("beside");
    const isWaiting = async (): Promise<boolean> => {
      const rows = await holder`
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND objid = to_regclass('store')::oid`;
      return rows.length === 1;
    };
    await expect.poll(isWaiting).toBe(true);
    await using updated = await open();
    await holder.unsafe(`SELECT pg_advisory_unlock(${WRITERS})`);
    expect(await waiting).toBe("[[1, 0, 2]]");
    // The functions of now answer a client of before with one entry more, which names none of its steps.
    expect(JSON.parse(String(await write("after")))).toEqual([
      [0, expect.any(Number), null],
      [1, 0, 3],
    ]);
    expect((await updated.writeCAS(sample(A1, HOME, "one"))).version).toBe("4");
    await old.end();
    await holder.end();
  });
});

/** Resolves when a watch has delivered a version of a resource. */
async function seen(watch: Watch, { version }: Resource): Promise<void> {
  for (;;) {
    const event = await watch.next();
    if (event.operation === "upsert" && event.resource.version === version) return;
  }
}

/** A statement of a migration from before, which replaces what there is. */
function statementsOf(tag: string, beginning: string): string {
  const file = readFileSync(new URL(`../../../drizzle/${tag}.sql`, import.meta.url), "utf8");
  const found = file.split("--> statement-breakpoint").find((text) => text.includes(beginning));
  if (found === undefined) throw new Error(`${tag} has no "${beginning}"`);
  return found.replace("CREATE ", "CREATE OR REPLACE ");
}
