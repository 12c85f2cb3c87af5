import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";

/** How long a code is good for. */
export const CODE_MS = 10 * 60_000;
/** Codes that are kept: the oldest ones go where there are more. */
const MAX_CODES = 100;

interface KeptCode {
  readonly token: string;
  readonly untilMs: number;
}

/**
 * Tokens for browsers, each of which is given once to who knows its code: an address with a code may be in the history of a browser, one
 * with a token must not be. They are in the memory of one server, and gone with it.
 */
export class ConsoleCodes {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #codes = new Map<string, KeptCode>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The code of a token, 256 random bits. */
  keep(token: string): string {
    const code = randomBytes(32).toString("base64url");
    this.#codes.set(digestOf(code), { token, untilMs: this.#clock.monotonicMs() + CODE_MS });
    for (const name of this.#codes.keys()) {
      if (this.#codes.size <= MAX_CODES) break;
      this.#codes.delete(name);
    }
    return code;
  }

  /** The token of a code, which is not given again; undefined for a code that is not known, was used, or is too old. */
  take(code: string): string | undefined {
    const name = digestOf(code);
    const kept = this.#codes.get(name);
    this.#codes.delete(name);
    return kept === undefined || kept.untilMs <= this.#clock.monotonicMs() ? undefined : kept.token;
  }
}

/** What is compared and found by is no secret. */
function digestOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
