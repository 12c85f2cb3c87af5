import { tmpdir } from "node:os";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createPostgresBlobs } from "../../blob/postgres-blobs.ts";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSame, nextEvent, nextUpsert } from "../../testing/assertions.ts";
import {
  checkDamagedDeletion,
  checkDamageIsolation,
} from "../../testing/backup/damage-isolation.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, HOME, payload, sample } from "../../testing/samples.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

const server = postgresServers().at(-1);

describe.skipIf(server === undefined)("a damaged row in PostgreSQL", { timeout: 60_000 }, () => {
  const url = server?.url ?? "";
  const stack = { schema: "", drop: async (): Promise<void> => undefined };
  let admin: postgres.Sql;
  let storage: PostgresStorage;

  beforeEach(async () => {
    const { name, drop } = await createSchema(url);
    Object.assign(stack, { schema: name, drop });
    admin = postgres(url, {
      max: 1,
      onnotice: () => undefined,
      connection: { search_path: name },
    });
    storage = await createPostgresStorage({ url, schema: name });
  });

  afterEach(async () => {
    await storage.close();
    await admin.end();
    await stack.drop();
  });

  const corrupt = async ({ version }: Pick<Resource, "version">): Promise<string> => {
    const { count } = await admin`
      UPDATE resource SET body = overlay(body PLACING 'lose'::bytea
        FROM position('find'::bytea IN body)) WHERE version = ${version}`;
    expect(count).toBe(1);
    return version;
  };

  test("concerns nothing but itself, is exported and dropped", async () => {
    await using blobs = await createPostgresBlobs({ url, schema: stack.schema });
    await checkDamageIsolation({ storage, blobs, scratch: tmpdir(), corrupt });
  });

  test("can be deleted as such, which ends the watches", async () => {
    await checkDamagedDeletion({ storage, corrupt }, { othersGoOn: false });
  });

  test("of the history ends watches once, and no watch waits for it", async () => {
    const first = await storage.writeCAS(sample(A1, HOME, "web", { data: payload("find it") }));
    using before = await storage.watchList(A1, HOME, "web", { endOfSnapshot: true });
    await nextUpsert(before);
    const { cursor = "" } = await nextEvent(before);
    const second = await storage.writeCAS(first);
    await nextUpsert(before);
    await admin`UPDATE event SET body = body || 'x'::bytea WHERE version = ${second.version}`;
    using resumed = await storage.watchList(A1, HOME, "web", { resumeAfter: cursor });
    await assertCode(nextEvent(resumed), "STORAGE_WATCH_CLOSED");
    using again = await storage.watchList(A1, HOME, "web");
    assertSame(await nextUpsert(again), second);
    const third = await storage.writeCAS(second);
    assertSame(await nextUpsert(again), third);
  });

  test("that a release before checksums has written is read, and gets one when it is written", async () => {
    const stored = await storage.writeCAS(sample(A1, HOME, "web", { data: payload("find it") }));
    await admin`UPDATE resource SET body = substring(body FROM 1 FOR octet_length(body) - 6)`;
    assertSame(await storage.read("strong", stored.id), stored);
    const { resources } = await storage.listHeads("strong", A1, HOME, "");
    expect(resources[0]?.data?.bytes).toBe(7);
    // Nothing says that it is damaged: the text is as good as another one.
    await corrupt(stored);
    const [read] = await storage.list("strong", A1, HOME, "");
    expect(Buffer.from(read?.data?.value ?? []).toString()).toBe("lose it");
    const written = await storage.writeCAS({ ...stored, metadata: { of: "this release" } });
    await corrupt(written);
    await assertCode(storage.list("strong", A1, HOME, ""), "STORAGE_CORRUPT");
  });
});
