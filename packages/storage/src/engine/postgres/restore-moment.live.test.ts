import { join } from "node:path";
import { expect, test } from "vitest";
import { createDirectoryBlobs } from "../../blob/index.ts";
import { checkRestoreMoments } from "../../testing/backup/restore-moments.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { runSeeds } from "../../testing/run-scale.ts";
import { makeScratchDirectory } from "../../testing/scratch-directory.ts";
import { createPostgresStorage } from "../postgres.ts";

const url = postgresServers()[0]?.url ?? "";

test.skipIf(url === "")(
  "a restore of a store in PostgreSQL to a later moment is the store of then",
  async () => {
    await using scratch = await makeScratchDirectory();
    await using blobs = await createDirectoryBlobs({ directory: join(scratch.path, "blobs") });
    for (const seed of runSeeds(1)) {
      const schema = await createSchema(url);
      try {
        await using storage = await createPostgresStorage({ url, schema: schema.name });
        // Beside it another one writes, so that requests of both are grouped as they come.
        await using other = await createPostgresStorage({ url, schema: schema.name });
        expect((await other.readCommits(0)).commits).toEqual([]);
        const nowMs = async (): Promise<number> => storage.serverMs();
        await checkRestoreMoments({ storage, blobs, scratch: scratch.path, seed, nowMs });
      } finally {
        await schema.drop();
      }
    }
  },
  60_000 * runSeeds(1).length,
);
