import { describeStorage } from "../testing/describe-storage.ts";
import { makeScratchDirectory } from "../testing/scratch-directory.ts";
import { createSqliteStorage, SQLITE_CAPABILITIES } from "./sqlite.ts";

describeStorage(
  "sqlite",
  async () => {
    const scratch = await makeScratchDirectory();
    return {
      open: (options) => createSqliteStorage({ directory: scratch.path, ...options }),
      [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
    };
  },
  SQLITE_CAPABILITIES,
);
