import { setTimeout as delay } from "node:timers/promises";
import { logTail, ServerError } from "./server-error.ts";
import type { ServerProcess } from "./server-process.ts";

/** How long to wait for a server, and for what. */
interface ReadyCheck {
  readonly what: string;
  readonly isReady: () => boolean | Promise<boolean>;
  readonly logFile: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Polls until the server is ready.
 *
 * @throws ServerError `SERVER_START_FAILED` when the process ends first, `SERVER_START_TIMEOUT`
 * after `timeoutMs`; both with the end of the log. Rejects with the signal's reason when aborted.
 */
export async function waitUntilReady(process: ServerProcess, check: ReadyCheck): Promise<void> {
  const end = AbortSignal.timeout(check.timeoutMs);
  const seconds = check.timeoutMs / 1000;
  while (!(await check.isReady())) {
    check.signal?.throwIfAborted();
    if (!process.alive) {
      const { code, signal } = await process.exited;
      const how = signal === null ? `exit code ${code}` : signal;
      throw new ServerError(
        "SERVER_START_FAILED",
        `${check.what} ended with ${how}${logTail(check.logFile)}`,
      );
    }
    if (end.aborted) {
      throw new ServerError(
        "SERVER_START_TIMEOUT",
        `${check.what} was not ready after ${seconds} s${logTail(check.logFile)}`,
      );
    }
    await delay(50);
  }
}
