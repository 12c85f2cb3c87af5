import { isSingleWrite, isWriteRow, type WriteOutcome, type WriteRequest } from "./protocol.ts";

/** A group ends after this many requests or bytes; the next ones wait for the group after it. */
const GROUP_REQUESTS = 1024;
const GROUP_BYTES = 8 * 1024 * 1024;

interface Queued {
  readonly request: WriteRequest;
  readonly settle: (outcome: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects write requests while a group is being committed, and sends them as the next group. So a
 * lone writer pays one commit per write, and n concurrent ones share theirs, without any waiting
 * for company.
 */
export class WriteQueue {
  readonly #commit: (requests: readonly WriteRequest[]) => Promise<readonly WriteOutcome[]>;
  readonly #gathered: () => Promise<void>;
  #queue: Queued[] = [];
  #running: Promise<void> | undefined;

  constructor(
    commit: (requests: readonly WriteRequest[]) => Promise<readonly WriteOutcome[]>,
    gathered: () => Promise<void>,
  ) {
    this.#commit = commit;
    this.#gathered = gathered;
  }

  /**
   * Adds a request. `settle` is called with its outcome, synchronously and in commit order before
   * any other code learns of the group.
   */
  add<T>(request: WriteRequest, settle: (outcome: WriteOutcome) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push({
        request,
        settle: (outcome) => {
          try {
            resolve(settle(outcome));
          } catch (error) {
            reject(error);
          }
        },
        reject,
      });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing is queued or under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    do {
      await this.#gathered();
      const group = this.#takeGroup();
      try {
        const outcomes = await this.#commit(group.map((queued) => queued.request));
        for (const [index, queued] of group.entries()) {
          queued.settle(outcomes[index] as WriteOutcome);
        }
      } catch (error) {
        for (const queued of group) queued.reject(error);
      }
    } while (this.#queue.length > 0);
    this.#running = undefined;
  }

  #takeGroup(): Queued[] {
    let bytes = 0;
    let count = 0;
    for (const { request } of this.#queue) {
      if (count >= GROUP_REQUESTS || (count > 0 && bytes > GROUP_BYTES)) break;
      const steps = isSingleWrite(request) ? [request] : request[0];
      for (const step of steps) bytes += isWriteRow(step) ? step[4].byteLength : 0;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }
}
