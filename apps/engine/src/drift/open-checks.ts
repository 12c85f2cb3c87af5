import type { StackReference } from "@stackwright/core";

/** Checks of an account that have not ended, beyond which no further one is requested for it. */
const MAX_OF_ACCOUNT = 20;
/** Those of all accounts, beyond which an account gets no more than its share. */
const MAX_OPEN = 100;
/** Never exceeded by those that workers begin, however many accounts there are. */
const MAX_WITH_SHARES = 2 * MAX_OPEN;

type OfAccount = Pick<StackReference, "account">;

/** The checks for drift of the stacks that a sweep looks at. */
interface Checks {
  /** Of stacks that have an open check, or are due for one. */
  readonly accounts: Iterable<string>;
  /** Of stacks whose check no worker has begun in a time in which workers begin one. */
  readonly idle: Iterable<string>;
}

/**
 * The checks for drift that have not ended, of each account and of all. Beyond the number of all, each account still gets its share of that, the
 * number divided by the accounts that have checks or are due for one. What one account has beyond its share takes none of another.
 *
 * Accounts for which no worker begins checks, such as those of a pool without workers, are counted apart, so that any number of them keeps no
 * check of another account waiting. So that theirs do not pile up, they get no more than their share once all together are as many as there may be.
 */
export class OpenChecks {
  readonly #of: ReadonlyMap<string, { count: number; readonly isIdle: boolean }>;
  readonly #share: number;
  /** Of accounts for which workers begin checks. */
  #begun = 0;
  #all = 0;

  constructor({ accounts, idle }: Checks) {
    const withoutWorkers = new Set(idle);
    this.#of = new Map(
      Array.from(accounts, (account) => [
        account,
        { count: 0, isIdle: withoutWorkers.has(account) },
      ]),
    );
    this.#share = Math.max(1, Math.floor(MAX_OPEN / Math.max(1, this.#of.size)));
  }

  add({ account }: OfAccount): void {
    const own = this.#of.get(account);
    this.#all += 1;
    if (own?.isIdle !== true) this.#begun += 1;
    if (own !== undefined) own.count += 1;
  }

  /** Whether a further check of the account may be requested. */
  hasRoomFor({ account }: OfAccount): boolean {
    const { count, isIdle } = this.#of.get(account) ?? { count: 0, isIdle: false };
    if (count >= MAX_OF_ACCOUNT) return false;
    if (isIdle) return this.#all < MAX_OPEN || count < this.#share;
    if (this.#begun >= MAX_WITH_SHARES) return false;
    return this.#begun < MAX_OPEN || count < this.#share;
  }
}
