import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { assertSameSet } from "../../testing/assertions.ts";
import { ForkedStorage } from "../../testing/forked/forked-storage.ts";
import { checkEvents } from "../../testing/history/check-events.ts";
import { checkHistory } from "../../testing/history/check-history.ts";
import { readSqliteTable } from "../../testing/history/event-tables.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { createRandom } from "../../testing/random.ts";
import { runFactor, runSeeds } from "../../testing/run-scale.ts";
import { A1, B1, HOME, sample, sampleId } from "../../testing/samples.ts";
import { createSqliteStorage } from "../sqlite.ts";

// In the soak 20 runs of 500 operations make 10,000.
const factor = runFactor();
const module = new URL("../sqlite.ts", import.meta.url).href;

const directories: string[] = [];

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "stackwright-crash-"));
  directories.push(directory);
  return directory;
}

interface ForkedOptions {
  readonly inline?: boolean;
  readonly execArgv?: readonly string[];
}

function forkedStorage(
  directory: string,
  { inline = false, execArgv = [] }: ForkedOptions = {},
): ForkedStorage {
  const target = {
    module,
    factory: "createSqliteStorage",
    // A short history keeps compaction at work, so that kills fall into it as well.
    options: { directory, inline, integrity: "full", history: { events: 50 } },
  };
  return new ForkedStorage(target, execArgv);
}

async function restart(storage: ForkedStorage, earlier: Promise<void>): Promise<void> {
  await earlier;
  await storage.kill();
  await storage.start();
}

afterEach(async () => {
  for (const directory of directories.splice(0)) {
    await rm(directory, { recursive: true, force: true });
  }
});

describe.each([
  ["with a thread", false],
  ["inline", true],
])("a sqlite store, %s, whose process is killed with SIGKILL", (_, inline) => {
  test(
    "loses nothing acknowledged and invents nothing, in random histories",
    async ({ annotate }) => {
      await annotate(`${500 * runSeeds(1).length} operations`, "count");
      for (const seed of runSeeds(1)) {
        const directory = await newDirectory();
        const storage = forkedStorage(directory, { inline });
        await storage.start();
        const random = createRandom(seed);
        const kills = new Set(Array.from({ length: 3 }, () => 50 + random.below(350)));
        let restarting: Promise<void> = Promise.resolve();
        const history = await runWorkload({
          instances: [storage],
          seed,
          operations: 500,
          watches: 4,
          disturb: (operations) => {
            if (!kills.has(operations)) return;
            restarting = restart(storage, restarting);
          },
          heal: () => restarting,
        });
        expect(checkHistory(history), `seed ${seed}`).toEqual([]);
        expect(checkEvents(history, readSqliteTable(directory)), `seed ${seed}`).toEqual([]);
        expect(history.writes.some((write) => write.result.kind === "unknown")).toBe(true);
        await storage.close();
      }
    },
    120_000 * factor,
  );

  test(
    "keeps every acknowledged write of a burst, and at most what was in progress beside it",
    async () => {
      const directory = await newDirectory();
      const random = createRandom(runSeeds(1)[0] ?? 1);
      const acknowledged = new Set<string>();
      for (let round = 0; round < 3 * factor; round += 1) {
        const storage = forkedStorage(directory, { inline });
        await storage.start();
        const attempted = new Set(acknowledged);
        const writers = Array.from({ length: 4 }, async (_, writer) => {
          for (let count = 0; ; count += 1) {
            const name = `r${round}-${writer}-${count}`;
            attempted.add(name);
            try {
              await storage.writeCAS(sample(A1, HOME, name));
            } catch {
              return;
            }
            acknowledged.add(name);
          }
        });
        await delay(20 + random.below(200));
        await storage.kill();
        await Promise.all(writers);

        await using reopened = await createSqliteStorage({ directory, integrity: "full" });
        const names = (await reopened.list("strong", A1, HOME, "")).map((found) => found.id.name);
        const found = new Set(names);
        expect(found.size).toBe(names.length);
        expect([...acknowledged].filter((name) => !found.has(name))).toEqual([]);
        expect(names.filter((name) => !attempted.has(name))).toEqual([]);
        for (const name of names) acknowledged.add(name);
      }
      expect(acknowledged.size).toBeGreaterThan(0);
    },
    60_000 * factor,
  );
});

describe("a sqlite store whose process is killed with SIGKILL", () => {
  test(
    "deletes whole resources or none, and owners agree with lists",
    async () => {
      const random = createRandom(runSeeds(1)[0] ?? 1);
      for (let round = 0; round < 2 * factor; round += 1) {
        const directory = await newDirectory();
        const storage = forkedStorage(directory);
        await storage.start();
        const owner = sampleId(A1, HOME, "owner");
        const children = await Promise.all(
          Array.from({ length: 200 }, (_, index) =>
            storage.writeCAS(sample(B1, HOME, `child-${index}`, { owner })),
          ),
        );
        const acknowledged = new Set<string>();
        const deleting = children.map(async ({ id, version }, index) => {
          await delay(index / 4);
          await storage.deleteCAS(id, version);
          acknowledged.add(id.name);
        });
        const deleted = Promise.allSettled(deleting);
        await delay(random.below(50));
        await storage.kill();
        await deleted;

        await using reopened = await createSqliteStorage({ directory, integrity: "full" });
        const left = await reopened.list("strong", B1, HOME, "");
        for (const resource of left) {
          expect(acknowledged.has(resource.id.name)).toBe(false);
          const before = children.find((child) => child.id.name === resource.id.name);
          expect(resource.version).toBe(before?.version);
        }
        assertSameSet(await reopened.listByOwner(owner), left);
      }
    },
    60_000 * factor,
  );

  test(
    "can be opened again wherever its first start was cut off",
    async () => {
      const random = createRandom(runSeeds(1)[0] ?? 1);
      for (let round = 0; round < 4 * factor; round += 1) {
        const directory = await newDirectory();
        const storage = forkedStorage(directory);
        const starting = storage.start().catch(() => undefined);
        await delay(random.below(400));
        await storage.kill();
        await starting;
        await using reopened = await createSqliteStorage({ directory });
        await reopened.writeCAS(sample(A1, HOME, "web"));
      }
    },
    60_000 * factor,
  );
});

describe("a sqlite store whose wall clock jumps", () => {
  test(
    "keeps every rule in random histories, also over a kill",
    async ({ annotate }) => {
      await annotate(`${500 * runSeeds(1).length} operations`, "count");
      const clock = new URL("../../testing/forked/jumping-clock.ts", import.meta.url).href;
      for (const seed of runSeeds(1)) {
        const storage = forkedStorage(await newDirectory(), { execArgv: ["--import", clock] });
        await storage.start();
        let restarting: Promise<void> = Promise.resolve();
        const history = await runWorkload({
          instances: [storage],
          seed,
          operations: 500,
          disturb: (operations) => {
            if (operations === 250) restarting = restart(storage, restarting);
          },
          heal: () => restarting,
        });
        expect(checkHistory(history), `seed ${seed}`).toEqual([]);
        await storage.close();
      }
    },
    60_000 * factor,
  );
});
