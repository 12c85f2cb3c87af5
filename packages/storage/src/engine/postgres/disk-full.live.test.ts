import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import postgres from "postgres";
import { expect, test } from "vitest";
import { isStorageError } from "../../errors.ts";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import { checkEvents } from "../../testing/history/check-events.ts";
import { checkHistory } from "../../testing/history/check-history.ts";
import { readPostgresTable } from "../../testing/history/event-tables.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { SmallDisk } from "../../testing/live/small-disk.ts";
import { runFactor, runSeeds } from "../../testing/run-scale.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

const OPERATIONS = 200;

/** Moves the tables of a store to a disk. */
async function moveTables(admin: postgres.Sql, schema: string, disk: SmallDisk): Promise<void> {
  const space = `disk_${schema}`;
  await admin.unsafe(`CREATE TABLESPACE ${space} LOCATION '${disk.path}'`);
  for (const table of ["resource", "event"]) {
    await admin.unsafe(`ALTER TABLE ${schema}.${table} SET TABLESPACE ${space}`);
  }
}

/** A resource that takes this space, whatever compresses it. */
function bulky(name: string, bytes: number) {
  return sample(A1, HOME, name, { data: { typeUrl: "t", value: randomBytes(bytes) } });
}

test("a store in PostgreSQL whose disk is full refuses writes without effect, reads on, and writes again when there is space", {
  timeout: 90_000 * runFactor(),
}, async (context) => {
  await using own = await startOwnServers(["postgres"]);
  const pid = own?.servers[0]?.pid;
  if (own?.url === undefined || pid === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { url } = own;
  await using admin = closing(postgres(url, { max: 1, onnotice: () => undefined }));
  {
    using disk = SmallDisk.mount(32, statSync(`/proc/${pid}`));
    if (disk === undefined) {
      context.skip(true, "no right to mount a tmpfs");
      return;
    }
    await using storage = await createPostgresStorage({ url, schema: "simple" });
    await moveTables(admin.sql, "simple", disk);
    const kept = await storage.writeCAS(sample(A1, HOME, "kept"));
    disk.fill();
    const refused: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const large = bulky(`large${count}`, 200_000);
      const error = await assertCode(storage.writeCAS(large), "STORAGE_INCONSISTENT");
      expect(error.message).toMatch(/^the disk of the store's server is full: /);
      expect(error.details.outcome).toBe("not-applied");
      refused.push(large.id.name);
      assertSame(await storage.read("strong", kept.id), kept);
    }
    expect(await storage.list("strong", A1, HOME, "large")).toEqual([]);
    disk.free();
    for (const name of refused) await storage.writeCAS(bulky(name, 200_000));
    assertSame(await storage.read("strong", kept.id), kept);
    await admin.sql`DROP SCHEMA simple CASCADE`;
  }
  for (const seed of runSeeds(1)) {
    const schema = `random${seed}`;
    using disk = SmallDisk.mount(48, statSync(`/proc/${pid}`));
    if (disk === undefined) return;
    const instances: PostgresStorage[] = [];
    while (instances.length < 2) instances.push(await createPostgresStorage({ url, schema }));
    await moveTables(admin.sql, schema, disk);
    const stopped = new AbortController();
    let refusals = 0;
    // The rows of the workload are small: beside them one grows until it is refused.
    const writing = (async () => {
      for (let count = 0; !stopped.signal.aborted; count += 1) {
        const row = { ...bulky(`bulky${count}`, 300_000) };
        const type = { ...A1, kind: "bystander" };
        try {
          await instances[0]?.writeCAS({ ...row, id: { ...row.id, type } });
        } catch (error) {
          expect(error).toMatchObject({ details: { outcome: "not-applied" } });
          refusals += 1;
        }
        await admin.sql`SELECT pg_sleep(0.02)`;
      }
    })();
    const history = await runWorkload({
      instances,
      seed,
      operations: OPERATIONS,
      watches: 2,
      disturb: (operations) => {
        if (operations % 80 === 20) disk.fill();
        if (operations % 80 === 50) disk.free();
      },
      heal: async () => {
        disk.fill();
        await expect.poll(() => refusals, { timeout: 20_000 }).toBeGreaterThan(0);
        stopped.abort();
        await writing;
        disk.free();
      },
    });
    expect(checkHistory(history), `seed ${seed}`).toEqual([]);
    // What a full disk refuses is known not to have happened.
    expect(history.writes.filter(({ result }) => result.kind === "unknown")).toEqual([]);
    const { events, ...table } = await readPostgresTable(url, schema);
    expect(events.length).toBe(table.revision);
    const violations = checkEvents(history, { ...table, events });
    expect(violations, `seed ${seed}`).toEqual([]);
    for (const instance of instances) await instance.close();
    await admin.sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
  }
  await context.annotate(`${runSeeds(1).length * OPERATIONS} operations`, "count");
});

test("a database of PostgreSQL that was made read-only refuses writes clearly, and takes them when it is not", {
  timeout: 60_000,
}, async (context) => {
  await using own = await startOwnServers(["postgres"]);
  if (own?.url === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { url } = own;
  await using admin = closing(postgres(url, { max: 1, onnotice: () => undefined }));
  await using storage = await createPostgresStorage({ url, timeoutMs: 3_000 });
  let kept = await storage.writeCAS(sample(A1, HOME, "kept"));
  const { sql } = admin;
  // As providers do whose disk is nearly full; sessions that there are go on as they were.
  await sql`ALTER SYSTEM SET default_transaction_read_only = on`;
  await sql`SELECT pg_reload_conf()`;
  let mayDiffer = false;
  const refusal = async (): Promise<string> => {
    try {
      kept = await storage.writeCAS(kept);
      return "";
    } catch (error) {
      // On a busy machine a write may have no answer in time: then it says so, and may have happened, or happens yet. All others have not.
      mayDiffer ||= isStorageError(error) && error.details.outcome === "unknown";
      if (mayDiffer) kept = await storage.read("strong", kept.id).catch(() => kept);
      return (error as Error).message;
    }
  };
  await expect.poll(refusal, { timeout: 20_000 }).toMatch(/read-only/);
  const { details } = await assertCode(storage.writeCAS(kept), "STORAGE_INCONSISTENT");
  expect(details.outcome).toBe("not-applied");
  await sql`SET default_transaction_read_only = off`;
  await sql`ALTER SYSTEM RESET default_transaction_read_only`;
  await sql`SELECT pg_reload_conf()`;
  await expect.poll(refusal, { timeout: 20_000 }).toBe("");
  assertSame(await storage.read("strong", kept.id), kept);
});

function closing(sql: postgres.Sql): AsyncDisposable & { readonly sql: postgres.Sql } {
  return { sql, [Symbol.asyncDispose]: async () => sql.end({ timeout: 1 }) };
}
