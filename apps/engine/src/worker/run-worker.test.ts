import { createInProcessExecutor } from "../executor/in-process-executor.ts";
import { describeWorker } from "../testing/worker-suite.ts";

describeWorker("in-process", (ground) => createInProcessExecutor(ground));
