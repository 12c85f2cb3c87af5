import { FunctionCaller } from "../caller/function-caller.ts";
import { serveFunction } from "../function/function-server.ts";
import { createLifecycleRunner } from "../function/lifecycle-runner.ts";
import { FunctionTargetTable } from "../target/target-table.ts";
import { TEST_PROJECT, TEST_URN } from "./bridged-function.ts";
import { describeCaller } from "./describe-caller.ts";
import { describeFunction } from "./describe-function.ts";
import { createToyProvider, createToyWorld } from "./toy-provider.ts";

/* Both sides of the bridge against what others are asked to keep. */

for (const pool of [undefined, { sharedCallers: true }]) {
  describeFunction(`the function side${pool === undefined ? "" : " with a pool"}`, async () => {
    const world = createToyWorld();
    const runner = createLifecycleRunner({ name: "toy", create: () => createToyProvider(world) });
    return serveFunction({ runner, port: 0, ...(pool === undefined ? {} : { pool }) });
  });
}

for (const strict of [false, true]) {
  describeCaller(`the caller${strict ? ", strict" : ""}`, async (url) => {
    const table = new FunctionTargetTable({
      functions: { [TEST_URN]: { url } },
      guard: { allow: ["127.0.0.0/8"] },
    });
    const target = table.resolve(TEST_URN, { projects: [TEST_PROJECT] });
    const caller = new FunctionCaller({
      strict,
      retry: { attempts: 2, baseMs: 1 },
      resolveTimeoutMs: 10,
    });
    return caller.transport({ target });
  });
}
