import { describeStorage } from "../testing/describe-storage.ts";
import { makeScratchDirectory } from "../testing/scratch-directory.ts";
import { createSqliteStorage, SQLITE_CAPABILITIES } from "./sqlite.ts";

for (const inline of [false, true]) {
  describeStorage(
    inline ? "sqlite, inline" : "sqlite",
    async () => {
      const scratch = await makeScratchDirectory();
      return {
        open: (options) => createSqliteStorage({ directory: scratch.path, inline, ...options }),
        [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
      };
    },
    SQLITE_CAPABILITIES,
  );
}
