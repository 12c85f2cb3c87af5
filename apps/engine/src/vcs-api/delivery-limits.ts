import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter } from "@stackwright/base/limiter";
import type { FastifyRequest } from "fastify";
import { ServerError } from "../domain/server-error.ts";

/** Signed deliveries to one address; requests of one sender, signed or not; and those of a sender whose signature is wrong. */
const RECEIVER_LIMIT = { perSecond: 50, burst: 200 };
const SENDER_LIMIT = { perSecond: 100, burst: 500 };
const FORGED_LIMIT = { perSecond: 10, burst: 100 };

/**
 * How many deliveries a server takes, of all webhooks together. What is not signed counts against its sender alone, so that no stranger
 * uses up what others may send to an address.
 */
export class DeliveryLimits {
  readonly #receivers: KeyedRateLimiter;
  readonly #senders: KeyedRateLimiter;
  readonly #forgers: KeyedRateLimiter;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    const nowMs = (): number => clock.monotonicMs();
    this.#receivers = new KeyedRateLimiter(RECEIVER_LIMIT, nowMs);
    this.#senders = new KeyedRateLimiter(SENDER_LIMIT, nowMs);
    this.#forgers = new KeyedRateLimiter(FORGED_LIMIT, nowMs);
  }

  /** Before anything of a request is read; `rate_limited`. */
  admit({ ip }: Pick<FastifyRequest, "ip">): void {
    requireNow(this.#forgers.waitMs(ip) || this.#senders.take(ip));
  }

  /** The signature of a request was wrong. */
  forged({ ip }: Pick<FastifyRequest, "ip">): void {
    this.#forgers.take(ip);
  }

  /** Before a delivery is taken that is signed; `rate_limited`. */
  receive(receiver: string): void {
    requireNow(this.#receivers.take(receiver));
  }
}

function requireNow(retryAfterMs: number): void {
  if (retryAfterMs === 0) return;
  throw new ServerError("rate_limited", "too many deliveries", { retryAfterMs });
}
