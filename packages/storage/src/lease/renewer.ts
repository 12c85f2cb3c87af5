import type { Clock } from "@stackwright/base/clock";
import type { StorageError } from "../errors.ts";
import type { StorageBackend } from "../types.ts";
import { Renewal, type RenewalTask } from "./renewal.ts";

/** A tenure that is being kept alive. */
export interface RenewalHandle {
  /** Monotonic start of the last successful renewal, as far as it is known here. */
  renewedAt(): number;
  /** Ends the renewals; resolves when none is under way any more. */
  stop(): Promise<void>;
}

/** Keeps tenures alive. */
export interface Renewer extends AsyncDisposable {
  /** Starts to renew. `onLost` is called once when the tenure is over. */
  start(task: RenewalTask, onLost: (error: StorageError) => void): RenewalHandle;
  close(): Promise<void>;
}

/** What {@link createScheduledRenewer} needs. */
export interface ScheduledRenewerOptions {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  /** Makes a token that no other write has. */
  readonly token: () => string;
}

/**
 * Renews on this thread, by the given clock: for stores that no other process can reach, where a
 * thief would be as late as the holder, and for simulations.
 */
export function createScheduledRenewer(options: ScheduledRenewerOptions): Renewer {
  const { storage, clock, token } = options;
  const running = new Set<Renewal>();
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(running, (renewal) => renewal.stop()));
    running.clear();
  };
  return {
    start: (task, onLost) => {
      let renewedAt = task.acquiredAt;
      const renewal: Renewal = new Renewal(task, {
        storage: () => Promise.resolve(storage),
        clock,
        token,
        onRenewed: (startedAt) => {
          renewedAt = startedAt;
        },
        onLost: (error) => {
          running.delete(renewal);
          onLost(error);
        },
      });
      running.add(renewal);
      renewal.start();
      return {
        renewedAt: () => renewedAt,
        stop: async () => {
          running.delete(renewal);
          await renewal.stop();
        },
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
