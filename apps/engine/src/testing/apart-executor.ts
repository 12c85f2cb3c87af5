import process from "node:process";
import { createRemoteBlobs } from "@stackwright/storage/blob/remote";
import { createRemoteStorage } from "@stackwright/storage/remote";
import { executeJob } from "../executor/execute-job.ts";
import type { ExecutionJob } from "../executor/execution-job.ts";
import type { ExecutionEnd, Executor } from "../executor/executor.ts";

/** Executes steps in this process, over the storage service that their jobs name: as a child does, without the process. */
export function createApartExecutor(
  onJob: (job: ExecutionJob, stopped: Promise<void>) => Promise<void> = async () => undefined,
): Executor {
  return {
    kind: "child",
    isRemote: true,
    start: (job, host) => {
      const [stop, force] = [new AbortController(), new AbortController()];
      const stopped = Promise.withResolvers<void>();
      const ended = (async (): Promise<ExecutionEnd> => {
        const { store } = job;
        if (store === undefined) throw new TypeError("the job names no store");
        await onJob(job, stopped.promise);
        await using storage = await createRemoteStorage(store).then((one) => disposable(one));
        await using blobs = await createRemoteBlobs(store).then((one) => disposable(one));
        const signals = { stop: stop.signal, force: force.signal };
        const ground = { storage: storage.opened, blobs: blobs.opened, env: process.env };
        return { how: "result", result: await executeJob(job, host, signals, ground) };
      })().catch((): ExecutionEnd => ({ how: "exit", code: 1 }));
      const end = (stage: 1 | 2): void => {
        stop.abort(new Error("canceled"));
        stopped.resolve();
        if (stage === 2) force.abort(new Error("canceled at once"));
      };
      return {
        ended,
        stop: end,
        [Symbol.asyncDispose]: async () => {
          end(2);
          await ended;
        },
      };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function disposable<T extends { close(): Promise<void> }>(opened: T) {
  return { opened, [Symbol.asyncDispose]: async () => opened.close() };
}
