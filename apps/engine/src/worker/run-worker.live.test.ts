import { join } from "node:path";
import { createChildExecutor } from "../executor/child-executor.ts";
import { describeWorker } from "../testing/worker-suite.ts";

describeWorker("child", (_ground, directory) =>
  createChildExecutor({
    compileCache: process.env["NODE_COMPILE_CACHE"] ?? join(directory, "cache"),
  }),
);
