import { createPostgresStorage } from "@stackwright/storage/postgres";
import postgres, { type Sql } from "postgres";
import { casOperation, KEYS_PER_CALLER } from "./cas.ts";
import { watchLatency } from "./latency.ts";
import { compare, compareCallers, type Effort, type Operation } from "./measure.ts";
import { printResults } from "./report.ts";
import { PAYLOAD_BYTES } from "./resources.ts";

/**
 * Rates of the PostgreSQL engine against bare postgres.js that calls the same function with one
 * write at a time; gives its row of the latency table. Makes and drops a schema of its own.
 */
export async function benchPostgres(effort: Effort, url: string): Promise<string[]> {
  const schema = `bench_${process.pid}`;
  const storage = await createPostgresStorage({ url, schema });
  const bare = postgres(url, {
    max: 8,
    fetch_types: false,
    connection: { search_path: schema },
    onnotice: () => undefined,
  });
  try {
    for (const writers of [1, 8, 32, 128]) {
      const subjects = [
        {
          name: "bare postgres.js, the same function",
          operation: await bareOperation(bare, writers),
          concurrency: writers,
        },
        {
          name: "postgres engine, CAS + event",
          operation: await casOperation(storage, writers, `w${writers}`),
          concurrency: writers,
        },
      ];
      printResults(
        `PostgreSQL, ${writers} writers`,
        await compareCallers(subjects, writers, effort),
      );
    }
    await printOrders(bare, effort);
    return await watchLatency(storage);
  } finally {
    await storage.close();
    await bare`DROP SCHEMA ${bare(schema)} CASCADE`;
    await bare.end();
  }
}

/** Writes one resource a call by the function of the engine, each caller on keys of its own. */
export async function bareOperation(
  bare: Sql,
  callers: number,
  label = "bare",
): Promise<Operation> {
  const body = `{"\\\\x${Buffer.alloc(PAYLOAD_BYTES + 150).toString("hex")}"}`;
  const write = async (name: string, expected: string): Promise<string> => {
    const [row] = await bare`
      SELECT p_revision FROM apply_group('{0}', '{1}', '{demo}', '{Bare}', '{default}', '{local}',
        '{default}', ${`{"${name}"}`}::text[], '{u}', ${`{"${expected}"}`}::text[], '{NULL}',
        ${body}::bytea[])`;
    return String(row?.p_revision);
  };
  const versions = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const mine: string[] = [];
      for (let key = 0; key < KEYS_PER_CALLER; key += 1) {
        mine.push(await write(`${label}-${callers}-${caller}-${key}`, ""));
      }
      return mine;
    }),
  );
  return async (caller, count) => {
    const mine = versions[caller] as string[];
    const key = count % KEYS_PER_CALLER;
    mine[key] = await write(`${label}-${callers}-${caller}-${key}`, mine[key] ?? "");
  };
}

/** What a total order of commits costs, by the way it is made: one event row per transaction. */
async function printOrders(bare: Sql, effort: Effort): Promise<void> {
  await bare.unsafe(`
    CREATE TABLE o_event (revision bigint PRIMARY KEY, body bytea);
    CREATE TABLE o_store (revision bigint NOT NULL) WITH (fillfactor = 20);
    INSERT INTO o_store VALUES (0);
    CREATE SEQUENCE o_sequence START 1000000000;
    CREATE FUNCTION o_none(b bytea) RETURNS void LANGUAGE sql AS $$
      INSERT INTO o_event VALUES (nextval('o_sequence'), b) $$;
    CREATE FUNCTION o_lock(b bytea) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(77); INSERT INTO o_event VALUES (nextval('o_sequence'), b);
    END $$;
    CREATE FUNCTION o_row(b bytea) RETURNS void LANGUAGE plpgsql AS $$ DECLARE r bigint; BEGIN
      UPDATE o_store SET revision = revision + 1 RETURNING revision INTO r;
      INSERT INTO o_event VALUES (r, b);
    END $$;
    CREATE FUNCTION o_both(b bytea) RETURNS void LANGUAGE plpgsql AS $$ DECLARE r bigint; BEGIN
      PERFORM pg_advisory_xact_lock(77);
      UPDATE o_store SET revision = revision + 1 RETURNING revision INTO r;
      INSERT INTO o_event VALUES (r, b);
    END $$;`);
  const body = Buffer.alloc(PAYLOAD_BYTES);
  const concurrency = 32;
  const subjects = [
    {
      name: "none: a sequence (loses events)",
      operation: () => bare`SELECT o_none(${body})`,
      concurrency,
    },
    {
      name: "advisory lock and a sequence",
      operation: () => bare`SELECT o_lock(${body})`,
      concurrency,
    },
    { name: "a counter row", operation: () => bare`SELECT o_row(${body})`, concurrency },
    {
      name: "advisory lock and a counter row",
      operation: () => bare`SELECT o_both(${body})`,
      concurrency,
    },
  ];
  printResults(
    "PostgreSQL, ways to order commits, 32 writers on 8 connections",
    await compare(subjects, effort),
  );
}
