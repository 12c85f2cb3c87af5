import { existsSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { expect, test } from "vitest";
import { assertCode } from "../../testing/assertions.ts";
import { checkHistory } from "../../testing/history/check-history.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { type OwnServers, startOwnServers } from "../../testing/live/own-servers.ts";
import { TcpProxy } from "../../testing/live/tcp-proxy.ts";
import { runFactor, runSeeds } from "../../testing/run-scale.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

const OPERATIONS = 400;

/** Has the primary wait for its standby, so that a promotion loses nothing that was acknowledged. */
async function waitForStandby(url: string): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await admin`ALTER SYSTEM SET synchronous_standby_names = '*'`;
    await admin`SELECT pg_reload_conf()`;
    const state = async (): Promise<unknown> => {
      const [row] = await admin`SELECT sync_state FROM pg_stat_replication`;
      return row?.["sync_state"];
    };
    await expect.poll(state, { timeout: 60_000 }).toBe("sync");
  } finally {
    await admin.end();
  }
}

/** Kills the primary, promotes its standby and leads the connections there. */
async function promote(own: OwnServers, standbyUrl: string, proxy: TcpProxy): Promise<void> {
  await own.command("kill9 0");
  const admin = postgres(standbyUrl, { max: 1, onnotice: () => undefined });
  try {
    await admin`SELECT pg_promote(true, 60)`;
  } finally {
    await admin.end();
  }
  proxy.retarget(Number(new URL(standbyUrl).port));
}

test("random histories of two postgres instances break no rule when the primary dies and its standby is promoted", {
  retry: 0,
  timeout: 120_000 * runFactor(),
}, async (context) => {
  const { TEST_POSTGRES_BIN: bin } = process.env;
  context.skip(
    bin === undefined || !existsSync(join(bin, "pg_basebackup")),
    "TEST_POSTGRES_BIN names no folder with pg_basebackup",
  );
  const seeds = runSeeds(1);
  for (const seed of seeds) {
    await using own = await startOwnServers(["postgres", "--standby"]);
    if (own?.url === undefined || own.standbyUrl === undefined) {
      context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
      return;
    }
    const { url, standbyUrl } = own;
    await waitForStandby(url);
    await using proxy = await TcpProxy.start(Number(new URL(url).port));
    const proxied = new URL(url);
    proxied.port = String(proxy.port);
    const instances: PostgresStorage[] = [];
    for (let count = 0; count < 2; count += 1) {
      instances.push(await createPostgresStorage({ url: proxied.href, timeoutMs: 3_000 }));
    }
    // Beside the store of the histories, whose watches would not know of it.
    const other = await createPostgresStorage({
      url: proxied.href,
      schema: "other",
      timeoutMs: 3_000,
    });
    const before = await other.writeCAS(sample(A1, HOME, "before"));
    using watch = await other.watchList(A1, HOME, "before");
    await watch.next();

    // The standby has not yet written down what it has replayed: on some releases of PostgreSQL the sequences that are not logged
    // cannot be read there then.
    let promoting: Promise<void> = Promise.resolve();
    const history = await runWorkload({
      instances,
      seed,
      operations: OPERATIONS,
      watches: 4,
      disturb: (operations) => {
        if (operations === OPERATIONS / 2) promoting = promote(own, standbyUrl, proxy);
      },
      heal: () => promoting,
    });
    expect(checkHistory(history), `seed ${seed}`).toEqual([]);
    expect(history.writes.some((write) => write.result.kind === "ok")).toBe(true);

    // What was acknowledged is there, and is written again by its version; cursors from before are refused.
    const versionOf = async (): Promise<string> => (await other.read("strong", before.id)).version;
    await expect.poll(versionOf, { timeout: 60_000 }).toBe(before.version);
    const kept = await other.read("strong", before.id);
    const after = await other.writeCAS(kept);
    expect(Number(after.version)).toBeGreaterThan(Number(before.version) + 1_000_000_000 - 1);
    await assertCode(readToTheEnd(watch), "STORAGE_WATCH_CLOSED");
    for (const instance of [...instances, other]) await instance.close();
  }
  await context.annotate(`${seeds.length * OPERATIONS} operations`, "count");
});

async function readToTheEnd(watch: { next(): Promise<unknown> }): Promise<never> {
  for (;;) await watch.next();
}
