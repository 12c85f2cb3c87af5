import { expect, test } from "vitest";
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
