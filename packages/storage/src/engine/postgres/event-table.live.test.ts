import postgres from "postgres";
import { expect, test } from "vitest";
import { checkEvents } from "../../testing/history/check-events.ts";
import { readPostgresTable } from "../../testing/history/event-tables.ts";
import type { Violation } from "../../testing/history/history.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { changeRoutine, type RoutineChange } from "../../testing/live/change-routine.ts";
import { createSchema, postgresServers } from "../../testing/live/postgres-servers.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

const url = postgresServers().at(-1)?.url ?? "";

/** Mistakes that a release could make in the function that writes. */
const MISTAKES: readonly (readonly [string, RoutineChange, readonly Violation["rule"][]])[] = [
  [
    "deletions without an event",
    ["apply_group", /INSERT INTO event[^;]*;/, "IF p_kind[i] = 1 THEN $& END IF;"],
    ["gap"],
  ],
  [
    "revisions that are left out",
    ["apply_group", /p_revision := p_revision \+ 1;/, "p_revision := p_revision + 2;"],
    ["gap"],
  ],
  [
    "the first step of a request that is refused",
    ["apply_group", /EXIT WHEN v_refused > 0;/, "EXIT WHEN v_refused > 0 AND i > v_first;"],
    ["phantom-event"],
  ],
  [
    "the last step of a batch left out",
    [
      "apply_group",
      /CONTINUE WHEN p_kind\[i\] = 0;/,
      "CONTINUE WHEN p_kind[i] = 0 OR (i = v_last AND i > v_first AND p_kind[i - 1] = 1);",
    ],
    ["batch"],
  ],
];

/** What the event table of a store has against a history of two instances. */
async function violationsOf(change?: RoutineChange): Promise<readonly Violation[]> {
  const schema = await createSchema(url);
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  const instances: PostgresStorage[] = [];
  try {
    while (instances.length < 2) {
      instances.push(await createPostgresStorage({ url, schema: schema.name, pollMs: 20 }));
    }
    if (change !== undefined) await changeRoutine(admin, schema.name, change);
    // A broken store may close its watches again and again, so there are none.
    const history = await runWorkload({ instances, seed: 1, operations: 150, watches: 0 });
    return checkEvents(history, await readPostgresTable(url, schema.name));
  } finally {
    for (const instance of instances) await instance.close();
    await admin.end({ timeout: 1 });
    await schema.drop();
  }
}

test.skipIf(url === "")(
  "the event table of a store in PostgreSQL explains a history of two instances",
  async () => {
    expect(await violationsOf()).toEqual([]);
  },
  60_000,
);

test.skipIf(url === "").each(MISTAKES)(
  "the comparison with the event table of PostgreSQL catches %s",
  async (_, change, rules) => {
    const found = new Set((await violationsOf(change)).map(({ rule }) => rule));
    for (const rule of rules) expect([...found]).toContain(rule);
  },
  60_000,
);
