import postgres from "postgres";
import { expect, test } from "vitest";
import { assertCode } from "../testing/assertions.ts";
import { describeBlobs } from "../testing/describe-blobs.ts";
import { createSchema, postgresServers } from "../testing/live/postgres-servers.ts";
import { createPostgresBlobs } from "./postgres-blobs.ts";

const servers = postgresServers();

if (servers.length === 0) {
  test("blobs in PostgreSQL keep the blob contract", (context) => {
    context.skip(true, "TEST_POSTGRES_URL names no server");
  });
}

for (const { name, url } of servers) {
  describeBlobs(
    name,
    async () => {
      const schema = await createSchema(url);
      return {
        open: (options) => createPostgresBlobs({ url, schema: schema.name, ...options }),
        damage: async () => {
          const client = postgres(url, { max: 1, connection: { search_path: schema.name } });
          await client`
            UPDATE blob_chunk SET bytes = set_byte(bytes, 0, (get_byte(bytes, 0) + 1) % 256)
              WHERE position = 1`;
          await client.end();
        },
        [Symbol.asyncDispose]: () => schema.drop(),
      };
    },
    { damage: true },
  );

  test(`${name}: tables of a release without owners get them when they are opened`, async () => {
    const schema = await createSchema(url);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => schema.drop());
    const before = await createPostgresBlobs({ url, schema: schema.name });
    const { sha256 } = await before.write(Buffer.from("of before"));
    await before.close();
    const client = postgres(url, {
      max: 1,
      connection: { search_path: schema.name },
      onnotice: () => undefined,
    });
    await client.unsafe(`
      DROP FUNCTION reset_sequences;
      DROP FUNCTION redate_events;
      DROP TABLE blob_claim, blob_owner;
      DROP FUNCTION finish_blob;
      DROP FUNCTION release_blob_claim;
      ALTER TABLE store DROP COLUMN place;
      DROP TABLE history_bounds;
      DROP FUNCTION apply_group;
      DROP FUNCTION apply_writes;
      ALTER FUNCTION apply_steps RENAME TO apply_writes;
      ALTER TABLE event DROP COLUMN at;
      DROP FUNCTION compact_history(bigint, bigint, bigint, integer, bigint);
      DROP PROCEDURE write_alone;
      DROP PROCEDURE write_group;
      DROP PROCEDURE settle_commits;
      DROP FUNCTION record_durable;
      DROP FUNCTION begin_life;
      DROP SEQUENCE durable_revision, server_life;
      DROP FUNCTION continue_line;
      DROP FUNCTION start_line;
      DROP FUNCTION store_place;
      DELETE FROM migration WHERE created_at IN (
        SELECT created_at FROM migration ORDER BY created_at DESC LIMIT 9)`);
    const options = { url, schema: schema.name, ownerQuotaBytes: 10 };
    await using after = await createPostgresBlobs(options);
    await using beside = await createPostgresBlobs(options);
    expect(await after.find([sha256])).toHaveLength(1);
    await after.write(Buffer.from("of before"), { owner: "acme" });
    await assertCode(beside.write(Buffer.from("xx"), { owner: "acme" }), "STORAGE_QUOTA_EXCEEDED");
    // Such a release, running on meanwhile, removes blobs without knowing of owners.
    await client`DELETE FROM blob`;
    await client.end();
    await beside.write(Buffer.from("0123456789"), { owner: "acme" });
    await assertCode(after.write(Buffer.from("x"), { owner: "acme" }), "STORAGE_QUOTA_EXCEEDED");
  });
}
