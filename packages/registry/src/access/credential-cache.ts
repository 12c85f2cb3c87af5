/** How many credentials are kept. */
const MAX_ENTRIES = 10_000;

/**
 * Keeps what was read about credentials for a short time, as every request needs it. A change by
 * another instance counts that much later here.
 */
export class CredentialCache<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly untilMs: number }>();
  /** Counts changes: what was read before one is not kept after it. */
  #changes = 0;
  readonly #lifeMs: number;
  readonly #nowMs: () => number;

  constructor(lifeMs: number, nowMs: () => number) {
    this.#lifeMs = lifeMs;
    this.#nowMs = nowMs;
  }

  /** The kept value, or the one that is read now; what is not there is not kept. */
  async get(key: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const kept = this.#entries.get(key);
    if (kept !== undefined && kept.untilMs > this.#nowMs()) return kept.value;
    this.#entries.delete(key);
    const changes = this.#changes;
    const value = await read();
    if (value !== undefined && this.#lifeMs > 0 && changes === this.#changes) {
      if (this.#entries.size >= MAX_ENTRIES) this.#dropOldest();
      this.#entries.set(key, { value, untilMs: this.#nowMs() + this.#lifeMs });
    }
    return value;
  }

  /** Drops what is kept of a credential that was changed or revoked. */
  forget(key: string): void {
    this.#changes += 1;
    this.#entries.delete(key);
  }

  /** The same for all that are kept and chosen. */
  forgetWhere(isChosen: (value: T) => boolean): void {
    this.#changes += 1;
    for (const [key, { value }] of this.#entries) {
      if (isChosen(value)) this.#entries.delete(key);
    }
  }

  #dropOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#entries.delete(key);
      return;
    }
  }
}
