import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStorage } from "../testing/describe-storage.ts";
import { createSqliteStorage, SQLITE_CAPABILITIES } from "./sqlite.ts";

describeStorage(
  "sqlite",
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "stackwright-sqlite-"));
    return {
      open: (options) => createSqliteStorage({ directory, ...options }),
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
    };
  },
  SQLITE_CAPABILITIES,
);
