import type { Clock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import { succeedTenures } from "../../worker/successive-tenures.ts";

/** The tenures of a worker of a simulation, begun again as a process is whose store was away at its start. */
export class SimTenures {
  readonly #closing = Promise.withResolvers<number>();
  readonly #closed = Promise.withResolvers<void>();

  constructor(begin: Parameters<typeof succeedTenures>[0]["begin"], clock: Clock) {
    void this.#work(begin, clock);
  }

  /** Ends in an orderly way; resolves when it has ended. */
  async close(graceMs: number): Promise<void> {
    this.#closing.resolve(graceMs);
    await this.#closed.promise;
  }

  async #work(begin: Parameters<typeof succeedTenures>[0]["begin"], clock: Clock): Promise<void> {
    const stack = new AsyncDisposableStack();
    for (;;) {
      try {
        const tenures = await succeedTenures({ begin, stack, clock, logger: silentLogger });
        await tenures.close(await this.#closing.promise);
        this.#closed.resolve();
        return;
      } catch {
        await new Promise<void>((resolve) => void clock.after(1_000, resolve));
      }
    }
  }
}
