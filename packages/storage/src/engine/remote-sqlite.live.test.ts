import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStorage } from "../testing/describe-storage.ts";
import { overRemote } from "../testing/live/remote-harness.ts";
import { createSqliteStorage, SQLITE_CAPABILITIES } from "./sqlite.ts";

// Needs no server. It is here because it takes long, and says little beside `remote over memory`.
describeStorage(
  "remote over sqlite",
  overRemote(async () => {
    const directory = await mkdtemp(join(tmpdir(), "stackwright-remote-"));
    return {
      open: (options) => createSqliteStorage({ directory, ...options }),
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
    };
  }),
  { ...SQLITE_CAPABILITIES, shared: true },
);
