import { expect, test } from "vitest";
import type { HistoryOptions } from "../../feed/history-options.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { makeScratchDirectory } from "../../testing/scratch-directory.ts";
import { createSqliteStorage } from "../sqlite.ts";

test("the size of the history is known, to readers too", async () => {
  await using scratch = await makeScratchDirectory();
  const directory = scratch.path;
  await using storage = await createSqliteStorage({ directory });
  expect(await storage.historySize()).toEqual({ events: 0, bytes: 0 });
  let stored = await storage.writeCAS(sample(A1, HOME, "web"));
  for (let count = 0; count < 9; count += 1) stored = await storage.writeCAS(stored);
  const size = await storage.historySize();
  expect(size.events).toBe(10);
  expect(size.bytes).toBeGreaterThan(100);
  await using reader = await createSqliteStorage({ directory, readOnly: true });
  expect(await reader.historySize()).toEqual(size);
  await storage.compactHistory(3);
  expect((await storage.historySize()).events).toBe(3);
  expect(await reader.historySize()).toEqual(await storage.historySize());
});

test("a writer that is given no bounds keeps to those of the store, and one that is given some sets them", async () => {
  await using scratch = await makeScratchDirectory();
  const directory = scratch.path;
  const MIB = 1024 * 1024;
  const write = async (history: HistoryOptions | undefined, mib: number) => {
    await using storage = await createSqliteStorage({ directory, ...(history && { history }) });
    const value = new Uint8Array(MIB / 2);
    for (let count = 0; count < 2 * mib; count += 1) {
      const { id } = sample(A1, HOME, `of-${mib}-${count}`);
      await storage.writeCAS(sample(A1, HOME, id.name, { data: { typeUrl: "a", value } }));
    }
    return (await storage.historySize()).events;
  };
  // A server that keeps more than the 64 MiB of the defaults.
  expect(await write({ bytes: 80 * MIB }, 33)).toBe(66);
  expect(await write({ bytes: 80 * MIB }, 33.5)).toBe(133);
  // A command.
  expect(await write(undefined, 1)).toBe(135);
  // A server that keeps less, and the command after it.
  expect(await write({ events: 2 }, 2)).toBeLessThan(5);
  expect(await write(undefined, 3)).toBeLessThan(5);
  const bounds = async () => {
    await using reader = await createSqliteStorage({ directory, readOnly: true });
    return await reader.historyBounds();
  };
  expect(await bounds()).toEqual({ events: 2, bytes: 64 * MIB, maxAgeMs: undefined });
  // A server that is given none of the three, whose bounds are the defaults.
  expect(await write({}, 4)).toBeGreaterThan(8);
  expect(await bounds()).toMatchObject({ events: 16_384 });
});
