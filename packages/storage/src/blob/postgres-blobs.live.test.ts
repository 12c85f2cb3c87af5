import postgres from "postgres";
import { test } from "vitest";
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
}
