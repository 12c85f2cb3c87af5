import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { assertCode } from "../../testing/assertions.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";

/** The newest server, or what there is. */
const server = postgresServers().at(-1);

/** A store with six resources, and a session beside it. */
async function openStore() {
  const url = server?.url ?? "";
  const schema = await createSchema(url);
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  const storage = await createPostgresStorage({ url, schema: schema.name });
  for (let index = 0; index < 6; index += 1) {
    await storage.writeCAS(sample(A1, HOME, `r${index}`));
  }
  /** Sessions that hold a point in time between two calls, here and in other schemas. */
  const holders = async (): Promise<readonly number[]> => {
    const rows = await admin<{ pid: number }[]>`
      SELECT pid FROM pg_stat_activity
      WHERE application_name = 'stackwright-storage' AND state = 'idle in transaction'
        AND query LIKE '%content_epoch%' AND datname = current_database()`;
    return rows.map(({ pid }) => pid);
  };
  return {
    admin,
    storage,
    holders,
    [Symbol.asyncDispose]: async () => {
      await storage.close();
      await admin.end();
      await schema.drop();
    },
  };
}

describe.skipIf(server === undefined)("a list in pages of PostgreSQL", () => {
  test("whose connection breaks has expired, and the next list is whole", async () => {
    await using store = await openStore();
    const { admin, storage } = store;
    const before = new Set(await store.holders());
    const first = await storage.listPage("strong", A1, HOME, "", { limit: 2 });
    const [pid] = (await store.holders()).filter((one) => !before.has(one));
    expect(pid).toBeDefined();
    await admin`SELECT pg_terminate_backend(${pid ?? 0}, 5000)`;
    const options = { limit: 2, continueAfter: first.continuation };
    // Which of both depends on whether the end of the connection has arrived here.
    await assertCode(
      storage.listPage("strong", A1, HOME, "", options),
      "STORAGE_LIST_EXPIRED",
      "STORAGE_INCONSISTENT",
    );
    await assertCode(storage.listPage("strong", A1, HOME, "", options), "STORAGE_LIST_EXPIRED");
    const again = await storage.listPage("strong", A1, HOME, "", { limit: 6 });
    expect(again.resources).toHaveLength(6);
    expect(again.continuation).toBeUndefined();
  });

  test("holds a connection until its last page, and never one for a single page", async () => {
    await using store = await openStore();
    const { storage } = store;
    const before = new Set(await store.holders());
    const held = async () => (await store.holders()).filter((pid) => !before.has(pid)).length;
    await storage.listPage("strong", A1, HOME, "", { limit: 6 });
    expect(await held()).toBe(0);
    const { continuation } = await storage.listPage("strong", A1, HOME, "", { limit: 5 });
    expect(await held()).toBe(1);
    await storage.listPage("strong", A1, HOME, "", { limit: 5, continueAfter: continuation });
    await expect.poll(held).toBe(0);
  });

  test("is one of at most 16 that hold a connection", async () => {
    await using store = await openStore();
    const { storage } = store;
    const before = new Set(await store.holders());
    const held = async () => (await store.holders()).filter((pid) => !before.has(pid)).length;
    const first = await storage.listPage("strong", A1, HOME, "", { limit: 5 });
    for (let index = 0; index < 15; index += 1) {
      await storage.listPage("strong", A1, HOME, "", { limit: 5 });
    }
    const continueAfter = first.continuation;
    const rest = await storage.listPage("strong", A1, HOME, "", { limit: 5, continueAfter });
    expect(rest.resources).toHaveLength(1);
    for (let index = 0; index < 20; index += 1) {
      await storage.listPage("strong", A1, HOME, "", { limit: 5 });
    }
    await expect.poll(held).toBe(16);
  });
});
