import { SigningError } from "./errors.ts";

/**
 * Remembers which signatures were used. The protocol has no nonce, so within the accepted skew a
 * request could otherwise be sent again by anyone who saw it. Implement it over a shared store where
 * several servers answer for the same keys.
 */
export interface ReplayGuard {
  /**
   * Notes a use and says whether it is the first one. Called only for signatures that verified, with
   * the time after which the signature is refused for its age anyway (ms since the Unix epoch).
   */
  firstUse(use: SignatureUse): boolean | Promise<boolean>;
}

export interface SignatureUse {
  readonly accessKey: string;
  readonly signature: string;
  readonly expiresAtMs: number;
}

export interface MemoryReplayGuardOptions {
  /** @default Date.now */
  readonly now?: () => number;
  /**
   * Signatures remembered for one access key. Past it that key's requests are refused
   * (`SIGNING_REPLAY_GUARD_FULL`, retryable) rather than remembered ones forgotten.
   * @default 100_000
   */
  readonly maxPerKey?: number;
}

/** A guard for a single process. Memory: about 150 bytes per remembered signature. */
export function createMemoryReplayGuard(options: MemoryReplayGuardOptions = {}): ReplayGuard {
  const { now = Date.now, maxPerKey = 100_000 } = options;
  const keys = new Map<string, Map<string, number>>();
  return {
    firstUse({ accessKey, signature, expiresAtMs }) {
      let uses = keys.get(accessKey);
      if (uses === undefined) keys.set(accessKey, (uses = new Map()));
      if (uses.has(signature)) return false;
      if (uses.size >= maxPerKey) {
        const time = now();
        for (const [old, expiry] of uses) if (expiry < time) uses.delete(old);
        if (uses.size >= maxPerKey) throw new SigningError("SIGNING_REPLAY_GUARD_FULL");
      }
      uses.set(signature, expiresAtMs);
      return true;
    },
  };
}
