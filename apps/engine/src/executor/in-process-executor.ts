import { executeJob } from "./execute-job.ts";
import type { ExecutionEnd, Executor } from "./executor.ts";
import type { JobGround } from "./job-engine.ts";

/** Executes steps in this process, over its store: for one trusted user, and for tests. */
export function createInProcessExecutor(ground: JobGround): Executor {
  const running = new Set<{ readonly force: AbortController; readonly ended: Promise<unknown> }>();
  return {
    kind: "in-process",
    isRemote: false,
    start: (job, host) => {
      const [stop, force] = [new AbortController(), new AbortController()];
      const signals = { stop: stop.signal, force: force.signal };
      const end = (): void => {
        stop.abort(new Error("canceled"));
        force.abort(new Error("canceled at once"));
      };
      const ended = executeJob(job, host, signals, { ...ground, groupsTools: true }).then(
        (result): ExecutionEnd => ({ how: "result", result }),
      );
      const entry = { force, ended };
      running.add(entry);
      void ended.finally(() => running.delete(entry));
      return {
        ended,
        stop: (stage) => (stage === 1 ? stop.abort(new Error("canceled")) : end()),
        [Symbol.asyncDispose]: async () => {
          end();
          await ended;
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const { force } of running) force.abort(new Error("the worker ends"));
      await Promise.all(Array.from(running, async ({ ended }) => ended));
    },
  };
}
