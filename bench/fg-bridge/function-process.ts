import {
  createProcessRunner,
  createServedResults,
  serveFunction,
} from "@stackwright/fg-bridge/function";

/* The function side in a process of its own: `function-process.ts PROGRAM [pool]`. Says on request what memory it has. */

const [program = "", pool] = process.argv.slice(2);
const server = await serveFunction({
  runner: await createProcessRunner({ command: program }),
  port: 0,
  maxProcesses: 8,
  maxWaiting: 10_000,
  timeoutMs: 600_000,
  results: createServedResults(),
  ...(pool === "pool" ? { pool: { sharedCallers: true, maxIdle: 16 } } : {}),
});
process.send?.({ url: server.url });
process.on("message", () => process.send?.({ rss: process.memoryUsage().rss }));
process.on("disconnect", () => {
  void server.close().then(() => process.exit(0));
});
