import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import { checkHistory } from "../../testing/history/check-history.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { SmallDisk } from "../../testing/live/small-disk.ts";
import { runSeeds } from "../../testing/run-scale.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createSqliteStorage } from "../sqlite.ts";

// Room for the largest row of these tests four times: in the table and in the history, in the file and in the log.
const disk = SmallDisk.mount(24);
if (disk === undefined) {
  process.stderr.write("skipped: no right to mount a tmpfs for the full-disk tests\n");
}

describe.skipIf(disk === undefined)("a sqlite store on a full disk", () => {
  const small = disk as SmallDisk;
  const root = disk?.path ?? "";

  // Each test has the whole disk, whatever the stores of those before it have left.
  afterEach(() => small.clear());
  afterAll(() => small[Symbol.dispose]());

  test("refuses writes without effect, reads on, and writes again when there is space", async () => {
    const directory = join(root, "simple");
    await using storage = await createSqliteStorage({ directory });
    const kept = await storage.writeCAS(sample(A1, HOME, "kept"));
    small.fill();
    const data = { typeUrl: "t", value: new Uint8Array(200_000) };
    const refused: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const large = sample(A1, HOME, `large${count}`, { data });
      const error = await assertCode(storage.writeCAS(large), "STORAGE_INCONSISTENT");
      expect(error.details).toMatchObject({ outcome: "not-applied", fullDisk: directory });
      expect(error.message).toContain(`no space is left for the store ${directory}`);
      refused.push(large.id.name);
      assertSame(await storage.read("strong", kept.id), kept);
    }
    expect(await storage.list("strong", A1, HOME, "large")).toEqual([]);
    small.free();
    for (const name of refused) await storage.writeCAS(sample(A1, HOME, name, { data }));
    assertSame(await storage.read("strong", kept.id), kept);
  });

  test("says that its file system is read-only, and opens again when it is not", async () => {
    const directory = join(root, "read-only");
    const kept = await (async () => {
      await using storage = await createSqliteStorage({ directory });
      return await storage.writeCAS(sample(A1, HOME, "kept"));
    })();
    small.remount("ro");
    try {
      const writer = createSqliteStorage({ directory });
      await expect(writer).rejects.toThrow(/read-only file system.*read-only/);
      const reader = createSqliteStorage({ directory, readOnly: true });
      await expect(reader).rejects.toThrow(/read-only cannot be written to.*mount its file system/);
    } finally {
      small.remount("rw");
    }
    await using storage = await createSqliteStorage({ directory });
    assertSame(await storage.read("strong", kept.id), kept);
  });

  test("loses nothing acknowledged when it fills up and is freed again and again", async () => {
    for (const seed of runSeeds(1)) {
      const directory = join(root, `random${seed}`);
      const storage = await createSqliteStorage({
        directory,
        history: { events: 100, bytes: 500_000 },
      });
      // The workload's own rows are small enough for what the log has allocated already. A large one
      // beside it, which grows on a full disk until it is refused, runs into the end for sure.
      const stopped = new AbortController();
      const refused = Promise.withResolvers<void>();
      const writing = (async () => {
        const type = { ...A1, kind: "bystander" };
        let row = await storage.writeCAS(sample(type, HOME, "row"));
        let bytes = 400_000;
        while (!stopped.signal.aborted) {
          try {
            const data = { typeUrl: "t", value: new Uint8Array(bytes) };
            row = await storage.writeCAS({ ...row, data });
            bytes = small.isFull ? bytes * 2 : 400_000;
          } catch (error) {
            expect(error).toMatchObject({ code: "STORAGE_INCONSISTENT" });
            refused.resolve();
            bytes = 400_000;
          }
        }
      })();
      const history = await runWorkload({
        instances: [storage],
        seed,
        operations: 500,
        disturb: (operations) => {
          if (operations % 100 === 30) small.fill();
          if (operations % 100 === 60) small.free();
        },
        heal: async () => {
          small.fill();
          await Promise.race([refused.promise, writing]);
          stopped.abort();
          small.free();
          await writing;
        },
      });
      expect(checkHistory(history), `seed ${seed}`).toEqual([]);
      await storage.close();
      await using reopened = await createSqliteStorage({ directory, integrity: "full" });
      await reopened.list("strong", A1, HOME, "");
      rmSync(directory, { recursive: true });
    }
  });
});
