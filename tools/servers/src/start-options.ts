import { ServerError } from "./server-error.ts";

/** Options that all servers share. */
export interface StartOptions {
  /** Where the server's folder is made, for example on a small file system. @default os.tmpdir() */
  readonly parentFolder?: string | undefined;
  /** @default 60000 */
  readonly startTimeoutMs?: number | undefined;
  /** Gives up starting; a server that has started is not affected. */
  readonly signal?: AbortSignal | undefined;
}

const ATTEMPTS = 3;

/** Starts again with other ports when another process took one between choosing and listening. */
export async function startWithFreshPorts<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      const portTaken =
        error instanceof ServerError &&
        error.code === "SERVER_START_FAILED" &&
        /address already in use/i.test(error.message);
      if (!portTaken || attempt === ATTEMPTS) throw error;
    }
  }
}
