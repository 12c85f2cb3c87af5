import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filterMatches, type ResourceFilter, resourceKey } from "../../key.ts";
import { type ResourceId, type Tenancy, WILDCARD } from "../../resource.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { A1, B1, HOME, sample, sampleId } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";
import { readPage } from "./reads.ts";

const PER_BATCH = 32;
const BODY_BYTES = { bytes: 1_000_000, bodyBytes: undefined };

/** Tenancies of one resource up to some dozens, and two that differ only in the case of a letter or are prefixes of others. */
const SIZES: readonly (readonly [Partial<Tenancy>, number])[] = [
  [{ partition: "a" }, 1],
  [{ partition: "a", namespace: "Other" }, 40],
  [{ partition: "a", namespace: "other" }, 7],
  [{ partition: "a", peerName: "remote" }, 1],
  [{ partition: "a", peerName: "remote", namespace: "other" }, 33],
  [{ partition: "a!" }, 3],
  [{ partition: "ab" }, 20],
  [{ partition: "ab", namespace: "\u{10ffff}" }, 9],
  [{ partition: "b" }, 2],
  [{ partition: "b", namespace: "other" }, 1],
  [{ partition: "\u{10ffff}" }, 12],
];
const NAMES = ["net", "net-", "nets", "n", "o", "\u0001", "\u{10ffff}", "été"];

describe.each(postgresServers())("a list of $name over scattered rows", ({ url }) => {
  let sql: Sql;
  let drop: () => Promise<void>;
  const ids: ResourceId[] = [];

  beforeAll(async () => {
    const schema = await createSchema(url);
    sql = postgres(url, { max: 1, connection: { search_path: schema.name } });
    drop = async () => schema.drop();
    await using storage = await createPostgresStorage({ url, schema: schema.name });
    for (const type of [A1, B1]) {
      for (const [parts, size] of SIZES) {
        for (let at = 0; at < size; at += 1) {
          const name = `${NAMES[at % NAMES.length]}${at < NAMES.length ? "" : at}`;
          ids.push(sampleId(type, { ...HOME, ...parts }, name));
        }
      }
    }
    for (let from = 0; from < ids.length; from += PER_BATCH) {
      const part = ids.slice(from, from + PER_BATCH);
      await storage.batch(
        part.map((id) => ({ kind: "write", resource: sample(id.type, id.tenancy, id.name) })),
      );
    }
  });

  afterAll(async () => {
    await sql.end();
    await drop();
  });

  /** All that pages of a list have, on a server that has to be led. */
  async function listed(filter: ResourceFilter, rows: number, stride: number, steps: number) {
    const led = { unsafe: sql.unsafe.bind(sql), parameters: { server_version: "15.0" } };
    const found: string[] = [];
    let next: string | undefined;
    do {
      const bounds = { ...BODY_BYTES, rows, pace: { stride, steps } };
      const page = await readPage(led as unknown as Sql, { kind: "filter", filter }, next, bounds);
      expect(page.rows.length).toBeLessThanOrEqual(rows);
      found.push(...page.rows.map(({ key }) => key));
      next = page.next;
    } while (next !== undefined);
    return found;
  }

  test.each([
    { rows: 5, stride: 1, steps: 3 },
    { rows: 3, stride: 4, steps: 2 },
    { rows: 10, stride: 8, steps: 5 },
    { rows: 1_000, stride: 128, steps: 1_000 },
  ])(
    "finds what is selected, in order, with $rows rows, $stride ahead and $steps steps",
    async (given) => {
      for (const filter of filters()) {
        const expected = ids
          .filter((id) => filterMatches(filter, { id }))
          .sort((left, right) => Buffer.compare(keyBytes(left), keyBytes(right)))
          .map(({ type, tenancy, name }) =>
            JSON.stringify([
              type.group,
              type.kind,
              tenancy.partition,
              tenancy.peerName,
              tenancy.namespace,
              name,
            ]),
          );
        const found = await listed(filter, given.rows, given.stride, given.steps);
        expect(
          found.map((key) => JSON.stringify(JSON.parse(key))),
          JSON.stringify(filter),
        ).toEqual(expected);
      }
    },
  );
});

/** Every way to place wildcards, with prefixes of all, of some and of nothing. */
function filters(): readonly ResourceFilter[] {
  return [WILDCARD, "a", "ab"].flatMap((partition) =>
    [WILDCARD, "local", "remote"].flatMap((peerName) =>
      [WILDCARD, HOME.namespace, "other"].flatMap((namespace) =>
        ["", "n", "net-", "\u{10ffff}", "zz"].map((namePrefix) => ({
          type: A1,
          tenancy: { partition, peerName, namespace },
          namePrefix,
        })),
      ),
    ),
  );
}

function keyBytes(id: ResourceId): Buffer {
  return Buffer.from(resourceKey(id));
}
