import type { ClockStanding } from "../clock/server-clock.ts";
import type { ServerKeyUse } from "../server-key-uses.ts";
import type { RefusedWorkers } from "../worker/refused-workers.ts";

/** What this server says of itself, for those who operate it. */
export interface ServerFacts {
  /** The keys that the stored secrets and the data keys of the store need. */
  readonly secretKeys: (signal: AbortSignal) => Promise<readonly ServerKeyUse[]>;
  /** Rejects where the keys that sign tokens of runs cannot be used. */
  readonly identityKeys: () => Promise<void>;
  /** What it knows of its clock. */
  readonly clockStanding: () => Promise<ClockStanding>;
  /** The directories in which it writes. */
  readonly directories: readonly string[];
  /** When the certificate that it serves ends, in milliseconds since 1970. @default it has none */
  readonly certificateEndMs?: (() => number | undefined) | undefined;
  /** Workers of other releases that it refused of late. @default none */
  readonly refusedWorkers?: RefusedWorkers | undefined;
}
