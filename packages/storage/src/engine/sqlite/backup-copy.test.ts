import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { makeScratchDirectory } from "../../testing/scratch-directory.ts";
import { backupTo } from "./backup-copy.ts";
import { openForWriting } from "./open-database.ts";

test("a copy that would begin within a transaction of the writer begins after it, with what it wrote", async () => {
  await using scratch = await makeScratchDirectory();
  const { database } = openForWriting(scratch.path, "auto");
  using _ = database;
  database.exec("CREATE TABLE written (line INTEGER)");
  const target = join(scratch.path, "copy.db");

  // Another thread makes the first step, at a moment of its own: the transaction is open before it can.
  database.exec("BEGIN IMMEDIATE; INSERT INTO written VALUES (1)");
  const copying = backupTo(database, target);
  await delay(100);
  database.exec("COMMIT");
  await copying;

  using copy = new DatabaseSync(target);
  expect(copy.prepare("SELECT line FROM written").all()).toEqual([{ line: 1 }]);
});
