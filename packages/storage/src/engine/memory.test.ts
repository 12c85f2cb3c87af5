import { describeStorage } from "../testing/describe-storage.ts";
import { createMemoryStorage, MEMORY_CAPABILITIES } from "./memory.ts";

describeStorage(
  "memory",
  async () => ({
    open: async (options) => createMemoryStorage(options),
    [Symbol.asyncDispose]: async () => undefined,
  }),
  MEMORY_CAPABILITIES,
);
