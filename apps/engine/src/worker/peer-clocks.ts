import { sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { ClockBeat } from "@stackwright/proto/stackwright";
import { type CallOptions, tenancyOf } from "@stackwright/storage";
import { type ClockBounds, judgeClock } from "../clock/judge-clock.ts";
import {
  type ClockStanding,
  type ClockTenure,
  type ServerClock,
  SKEW_ERROR_MS,
} from "../clock/server-clock.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";

/** How often a server says what its clock says, and reads what the others said. */
export const BEAT_MS = 10_000;
/** A server whose clock said nothing for so long does not count: it has ended, or is cut off. */
export const AWAY_MS = 45_000;
const WARNED_EACH_MS = 600_000;
const KIND = SERVER_KINDS.serverKeys;
const SITE = tenancyOf({ kind: "site" });

/** What is known of the clock of another server. All times are of the monotonic clock of this one. */
interface Peer {
  readonly version: string;
  readonly beat: ClockBeat;
  /** Between which times the beat was stored; undefined of one that was there before the first read, or that came in a pause of the reads. */
  readonly stored: { readonly fromMs: number; readonly untilMs: number } | undefined;
  /** When the beat was new here, and when its server was. */
  readonly seenMs: number;
  readonly firstMs: number;
  /** By how much its wall clock is ahead of the monotonic clock of this server; undefined before two beats in a row were seen. */
  readonly aheadMs: ClockBounds | undefined;
}

/**
 * Compares the clock of this server with those of the other servers of a store that has no clock. Each says every ten seconds what its clock says,
 * in its record in the store, and how long the write of that took. Who reads it knows between which reads it was stored. So each difference
 * is known within bounds (the pause between two reads and the time of the write) that hold however slow the store is, and no message
 * between servers is needed. What counts is what changes: a record that stands still is of a server that ended.
 */
export class PeerClocks implements ServerClock {
  readonly #parts: TransactionParts & { readonly logger: Logger };
  /** Names that this server has had: what it said as another worker is its own. */
  readonly #own = new Set<string>();
  #peers: ReadonlyMap<string, Peer> = new Map();
  #number = 0n;
  #tookMs = 0n;
  /** When the last read began; undefined before the first. */
  #readAtMs: number | undefined;
  /** Since when it has read without a pause in which servers could come and go unseen. */
  #sinceMs = Number.POSITIVE_INFINITY;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TransactionParts & { readonly logger: Logger }) {
    this.#parts = parts;
  }

  /**
   * Nothing that is due happens here before the first comparison, after reads have failed for a while, and while a server may live that
   * was there before this one and is not measured yet, until another one is. One that comes later holds up itself alone: else one that restarts again and
   * again would stop all.
   */
  async standing(): Promise<ClockStanding> {
    return Promise.resolve(this.#standing());
  }

  #standing(): ClockStanding {
    const { clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const live = [...this.#peers.values()].filter(({ seenMs }) => nowMs - seenMs < AWAY_MS);
    const known = live.flatMap(({ aheadMs }) => aheadMs ?? []);
    const standing = judgeClock(clock.wallMs() - nowMs, known);
    const isCurrent = this.#readAtMs !== undefined && nowMs - this.#readAtMs < AWAY_MS;
    const isLate = nowMs - this.#sinceMs >= AWAY_MS;
    const areNew = live.every(({ firstMs }) => firstMs > this.#sinceMs);
    const isMeasured = known.length === live.length || (isLate && (known.length > 0 || areNew));
    const isKnown = isCurrent && isMeasured;
    return isKnown ? standing : { ...standing, mayReact: false };
  }

  readonly follow = async (tenure: ClockTenure, signal: AbortSignal): Promise<void> => {
    const { clock, logger, random } = this.#parts;
    while (!signal.aborted) {
      try {
        await this.compare(tenure, { signal });
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "clocks could not be compared; it is tried again");
      }
      await sleep(clock, BEAT_MS * (0.75 + random() / 2), signal).catch(() => undefined);
    }
  };

  /** Says what the clock says, then reads what those of the others said: also where this one cannot say it. */
  async compare(tenure: ClockTenure, options?: CallOptions): Promise<void> {
    try {
      await this.#beat(tenure);
    } finally {
      await this.#read(tenure, options);
    }
    this.#warn();
  }

  async #beat({ id, guard }: ClockTenure): Promise<void> {
    const { clock } = this.#parts;
    const formerTookMs = this.#tookMs;
    this.#number += 1n;
    // Unless this write succeeds, nothing is known of how long it took.
    this.#tookMs = 0n;
    const number = this.#number;
    const wallMs = BigInt(Math.floor(clock.wallMs()));
    const startMs = clock.monotonicMs();
    await transact(this.#parts, async (tx) => {
      const row = await tx.find(KIND, { tenancy: SITE, name: id });
      if (row === undefined) return;
      tx.guard(guard);
      tx.update(row, { clock: { number, wallMs, formerTookMs } });
    });
    this.#tookMs = BigInt(Math.ceil(clock.monotonicMs() - startMs) + 1);
  }

  async #read({ id }: ClockTenure, options: CallOptions | undefined): Promise<void> {
    const { clock, storage, logger } = this.#parts;
    this.#own.add(id);
    const fromMs = this.#readAtMs;
    const startMs = clock.monotonicMs();
    const hasPaused = fromMs === undefined || startMs - fromMs >= AWAY_MS;
    // A record that is damaged is of a server that this one cannot measure, and must not stop all.
    const onDamaged = logDamaged(logger);
    const found = await listReadable(storage, KIND, SITE, { ...options, onDamaged });
    const untilMs = clock.monotonicMs();
    const peers = new Map<string, Peer>();
    for (const {
      id: { name },
      version,
      message: { clock: beat },
    } of found) {
      if (this.#own.has(name) || beat === undefined) continue;
      const before = this.#peers.get(name);
      if (before?.version === version) peers.set(name, before);
      else {
        // Bounds as wide as a pause would say nothing, and replace good ones.
        const stored = fromMs === undefined || hasPaused ? undefined : { fromMs, untilMs };
        const aheadMs = (before && boundsOf(before, beat)) ?? before?.aheadMs;
        const firstMs = before?.firstMs ?? untilMs;
        peers.set(name, { version, beat, stored, seenMs: untilMs, firstMs, aheadMs });
      }
    }
    this.#peers = peers;
    // Those of the read that begins it were there before.
    if (hasPaused) this.#sinceMs = untilMs;
    this.#readAtMs = startMs;
  }

  #warn(): void {
    const { clock, logger } = this.#parts;
    const { skewMs = 0, isDisputed } = this.#standing();
    if (Math.abs(skewMs) < SKEW_ERROR_MS) return;
    if (clock.monotonicMs() - this.#warnedAtMs < WARNED_EACH_MS) return;
    this.#warnedAtMs = clock.monotonicMs();
    logger.warn(
      { skewMs: Math.round(skewMs) },
      isDisputed
        ? "the clocks of the servers of this store differ, and no majority says which is right: synchronise them"
        : "the clock of this server differs from those of most servers of its store: synchronise it",
    );
  }
}

/** By how much a clock is ahead, by a beat of which the next one says how long its write took. */
function boundsOf({ beat, stored }: Peer, next: ClockBeat): ClockBounds | undefined {
  if (stored === undefined || next.number !== beat.number + 1n || next.formerTookMs === 0n) {
    return undefined;
  }
  // The clock said it before the write, and the write was over at the latest when its answer was there.
  const wallMs = Number(beat.wallMs);
  return {
    leastMs: wallMs - stored.untilMs,
    mostMs: wallMs + Number(next.formerTookMs) - stored.fromMs,
  };
}
