import type { Guard } from "@stackwright/storage";

/** What a server may differ by without a warning, in milliseconds. */
export const SKEW_WARNING_MS = 2_000;
/** What signed requests and tokens of runs do not bear any more, and with what a server does nothing that is due by the time. */
export const SKEW_ERROR_MS = 60_000;

/** What a server knows of its own clock. */
export interface ClockStanding {
  /** By how much it is ahead of the right time, at the least; undefined where it is compared with nothing. */
  readonly skewMs: number | undefined;
  /** Whether servers disagree and no majority of them says who is right; `skewMs` is then the difference to the one that is the furthest away. */
  readonly isDisputed: boolean;
  /** Whether this server does what is due by the time: requests runs, ends what waited for too long, removes what is past its time. */
  readonly mayReact: boolean;
}

/** The clock of a server, compared with others. */
export interface ServerClock {
  standing(): Promise<ClockStanding>;
  /** Compares with other servers for as long as this one has the lease of its worker; undefined where the store has a clock. */
  readonly follow?: (tenure: ClockTenure, signal: AbortSignal) => Promise<void>;
}

/** Whether a server does what is due by the time; one that compares its clock with nothing does. */
export async function mayReact(clock: ServerClock | undefined): Promise<boolean> {
  return clock === undefined || (await clock.standing()).mayReact;
}

/** In whose name a server says what its clock says. */
export interface ClockTenure {
  /** Name of the worker. */
  readonly id: string;
  /** Holds as long as the worker has its lease. */
  readonly guard: Guard;
}
