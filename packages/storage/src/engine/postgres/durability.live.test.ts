import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isStorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import { checkHistory } from "../../testing/history/check-history.ts";
import type { Violation } from "../../testing/history/history.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import {
  changeRoutine,
  type RoutineChange,
  routineSource,
} from "../../testing/live/change-routine.ts";
import { type OwnServers, startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

/** Makes the time long in which a commit is visible and not on disk. */
const lateSync = (seconds: number): RoutineChange => [
  "write_group",
  /COMMIT;/,
  `COMMIT; PERFORM pg_sleep(${seconds});`,
];

/** Mistakes that a release could make. */
const NO_SYNC: RoutineChange = [
  "write_group",
  /v_message := pg_logical_emit_message[^;]*;\s*COMMIT;/,
  "",
];
const NO_SYNC_ALONE: RoutineChange = [
  "write_alone",
  /BEGIN\n/,
  "BEGIN PERFORM set_config('synchronous_commit', 'off', true);",
];
const READ_ANYTHING: RoutineChange = ["begin_life", /1 \+ \('x'.*::bigint/, "0"];

const MOST_HISTORIES = 8;

describe("commits of PostgreSQL that are visible before they are on disk", { retry: 0 }, () => {
  let server: OwnServers | undefined;

  beforeAll(async () => {
    const newest = process.env.TEST_POSTGRES_NEWEST_URL === undefined ? [] : ["--newest"];
    server = await startOwnServers(["postgres", ...newest]);
    if (server?.url === undefined) return;
    // Nothing else writes the log: what no commit has waited for is lost when the processes are killed.
    await ask(server.url, async (admin) => {
      await admin.unsafe("ALTER SYSTEM SET wal_writer_delay = '10s'");
      await admin.unsafe("ALTER SYSTEM SET wal_writer_flush_after = '1GB'");
      await admin.unsafe("SELECT pg_reload_conf()");
    });
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
  });

  const hasServer = process.env.TEST_SERVERS_MAIN !== undefined;

  test.skipIf(!hasServer)(
    "are given to no reader before, whatever a crash takes back",
    async () => {
      expect(await violationsOf(server, 1, [lateSync(0.03)])).toEqual([]);
    },
    60_000,
  );

  test.skipIf(!hasServer)(
    "are not visible before where an instance writes alone",
    async () => {
      expect(await violationsOf(server, 1, [], 1)).toEqual([]);
    },
    60_000,
  );

  test.skipIf(!hasServer).each([
    ["by instances beside one another", NO_SYNC, 4],
    ["by an instance that writes alone", NO_SYNC_ALONE, 1],
  ] as const)(
    "would be found lost, were they acknowledged before %s",
    async (_, mistake, count) => {
      for (let seed = 1; seed <= MOST_HISTORIES; seed += 1) {
        const found = await violationsOf(server, seed, [mistake], count);
        if (found.some(({ rule }) => rule === "linearizability")) return;
      }
      expect.fail(`${MOST_HISTORIES} histories have nothing against it`);
    },
    180_000,
  );

  test.skipIf(!hasServer).each([
    ["stay when they were read, as the reader waits", [], isRead, true],
    ["would be lost, were they read without that", [READ_ANYTHING], isRead, false],
    ["stay when a large write was refused over them, as its writer waits", [], isInTheWay, true],
  ] as const)(
    "%s",
    async (_, changes, isSeen, isKept) => {
      expect(await isSeenKept(server, [lateSync(30), ...changes], isSeen)).toBe(isKept);
    },
    60_000,
  );
});

/** Whether a list shows a resource. */
async function isRead(storage: PostgresStorage, { id }: Resource): Promise<boolean> {
  const { length } = await storage.list("strong", id.type, id.tenancy, "");
  return length > 0;
}

/** Whether a write of some MiB, which never succeeds, is refused because a resource is there with another uid. */
async function isInTheWay(storage: PostgresStorage, { id }: Resource): Promise<boolean> {
  const data = { typeUrl: "example.test/Large", value: new Uint8Array(5 * 1024 * 1024) };
  const large = { ...sample(id.type, id.tenancy, id.name, { uid: "other", version: "7" }), data };
  const refusal: unknown = await storage.writeCAS(large).catch((error: unknown) => error);
  if (isStorageError(refusal, "STORAGE_WRONG_UID")) return true;
  if (isStorageError(refusal, "STORAGE_CAS_FAILURE")) return false;
  throw refusal;
}

/** Whether what was seen beside its writer is there after a crash. */
async function isSeenKept(
  server: OwnServers | undefined,
  changes: readonly RoutineChange[],
  isSeen: (storage: PostgresStorage, resource: Resource) => Promise<boolean>,
): Promise<boolean> {
  const url = server?.url ?? "";
  const schema = newSchema();
  await using writer = await createPostgresStorage({ url, schema, timeoutMs: 3_000 });
  await using reader = await createPostgresStorage({ url, schema, timeoutMs: 3_000 });
  for (const change of changes) await ask(url, (admin) => changeRoutine(admin, schema, change));
  await ask(url, (admin) => writeBesideOthers(admin, schema));
  const resource = sample(A1, HOME, "kept");
  const written = writer.writeCAS(resource).catch(() => undefined);
  await expect
    .poll(async () => isSeen(reader, resource), { timeout: 10_000, interval: 5 })
    .toBe(true);
  await server?.command("kill9 0");
  await written;
  await server?.command("restart 0");
  // Until the instance has found the server again, reads fail.
  await expect
    .poll(
      async () =>
        isRead(reader, resource).then(
          () => true,
          () => false,
        ),
      { timeout: 20_000 },
    )
    .toBe(true);
  return await isRead(reader, resource);
}

/** What a history of instances breaks, whose server is killed and started again in the middle. */
async function violationsOf(
  server: OwnServers | undefined,
  seed: number,
  changes: readonly RoutineChange[],
  count = 4,
): Promise<readonly Violation[]> {
  const url = server?.url ?? "";
  const schema = newSchema();
  const instances: PostgresStorage[] = [];
  while (instances.length < count) {
    instances.push(await createPostgresStorage({ url, schema, timeoutMs: 3_000, pollMs: 20 }));
  }
  for (const change of changes) await ask(url, (admin) => changeRoutine(admin, schema, change));
  let restarted: Promise<unknown> = Promise.resolve();
  const history = await runWorkload({
    instances,
    seed,
    operations: 240,
    watches: 1,
    disturb: (operations) => {
      if (operations !== 160 || server === undefined) return;
      restarted = server.command("kill9 0").then(() => server.command("restart 0"));
    },
    heal: async () => void (await restarted),
  });
  for (const instance of instances) await instance.close();
  return checkHistory(history);
}

function newSchema(): string {
  return `durability_${process.pid}_${Math.random().toString(36).slice(2)}`;
}

/** Lets an instance that writes alone write as it does beside others. */
async function writeBesideOthers(admin: postgres.Sql, schema: string): Promise<void> {
  const source = await routineSource(admin, schema, "write_group");
  await admin.unsafe(source.replace("write_group", "write_alone"));
}

async function ask(url: string, question: (admin: postgres.Sql) => Promise<void>): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await question(admin);
  } finally {
    await admin.end({ timeout: 1 });
  }
}
