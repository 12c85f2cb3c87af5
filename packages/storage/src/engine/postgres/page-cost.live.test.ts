import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ResourceFilter } from "../../key.ts";
import { WILDCARD } from "../../resource.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, B1, EVERYWHERE, HOME, sample } from "../../testing/samples.ts";
import type { StorageBackend } from "../../types.ts";
import { createPostgresStorage } from "../postgres.ts";
import { readPage } from "./reads.ts";

const RESOURCES = 6_000;
const PER_BATCH = 30;
const BOUNDS = { rows: 20, bytes: 1_000_000, bodyBytes: undefined };

interface Plan {
  readonly "QUERY PLAN": readonly [
    {
      readonly Plan: {
        readonly "Shared Hit Blocks": number;
        readonly "Shared Read Blocks": number;
      };
    },
  ];
}

describe.each(postgresServers())("a page of a list of $name", ({ url }) => {
  let storage: StorageBackend;
  let sql: Sql;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const schema = await createSchema(url);
    const connection = { search_path: schema.name };
    sql = postgres(url, { max: 1, connection, onnotice: () => undefined });
    drop = async () => schema.drop();
    storage = await createPostgresStorage({ url, schema: schema.name });
    for (let from = 0; from < RESOURCES; from += PER_BATCH) {
      await storage.batch(
        Array.from({ length: PER_BATCH }, (_, at) => ({
          kind: "write" as const,
          resource: sample(A1, HOME, nameOf(from + at)),
        })),
      );
    }
    await storage.batch(
      Array.from({ length: PER_BATCH }, (_, at) => ({
        kind: "write" as const,
        resource: sample(B1, HOME, nameOf(at)),
      })),
    );
    await sql.unsafe("VACUUM ANALYZE resource");
  });

  afterAll(async () => {
    await storage.close();
    await sql.end();
    await drop();
  });

  /** Blocks of tables and indexes that the server visits for a page behind a name. */
  async function blocksOf(filter: ResourceFilter, after: string | undefined): Promise<number> {
    let plan: Plan | undefined;
    const explaining = {
      unsafe: async (text: string, values: (string | Buffer)[]) => {
        const explain = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`;
        [plan] = await sql.unsafe<Plan[]>(explain, values, { prepare: true });
        return [];
      },
      parameters: sql.parameters,
    };
    const { partition, peerName, namespace } = HOME;
    const key =
      after === undefined
        ? undefined
        : JSON.stringify([A1.group, A1.kind, partition, peerName, namespace, after]);
    await readPage(explaining as unknown as Sql, { kind: "filter", filter }, key, BOUNDS);
    const root = plan?.["QUERY PLAN"][0].Plan;
    if (root === undefined) throw new Error("there is no plan");
    return root["Shared Hit Blocks"] + root["Shared Read Blocks"];
  }

  test.each([
    ["of a namespace", HOME],
    ["of a peer", { ...HOME, namespace: WILDCARD }],
    ["of a partition", { ...HOME, peerName: WILDCARD, namespace: WILDCARD }],
    ["of a type", { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD }],
    ["of a namespace of any peer", { ...HOME, peerName: WILDCARD }],
  ])("%s costs the same wherever it begins", async (_, tenancy) => {
    const filter = { type: A1, tenancy, namePrefix: "" };
    const near = await blocksOf(filter, nameOf(20));
    expect(await blocksOf(filter, nameOf(RESOURCES - 100))).toBeLessThan(near + 10);
  });

  test.each([
    ["of names by prefix in all namespaces", { ...HOME, namespace: WILDCARD }, "s"],
    ["of names by prefix everywhere", EVERYWHERE, "s"],
    ["of names by prefix of any peer", { ...HOME, peerName: WILDCARD }, "s"],
    ["of a namespace of any partition", { ...EVERYWHERE, namespace: "other" }, ""],
  ])("%s costs the same whatever else the type has", async (_, tenancy, namePrefix) => {
    const few = await blocksOf({ type: B1, tenancy, namePrefix }, undefined);
    const many = await blocksOf({ type: A1, tenancy, namePrefix }, undefined);
    expect(many).toBeLessThan(few + 12);
  });
});

function nameOf(index: number): string {
  return `r${String(index).padStart(6, "0")}`;
}
