import type { StackReference } from "@stackwright/core";

/** Checks of an account that have not ended, beyond which no further one is requested for it. */
const MAX_OF_ACCOUNT = 20;
/** Those of all accounts, beyond which an account gets no more than its share. */
const MAX_OPEN = 100;
/** Never exceeded, however many accounts there are. */
const MAX_WITH_SHARES = 2 * MAX_OPEN;

type OfAccount = Pick<StackReference, "account">;

/**
 * The checks for drift that have not ended, of each account and of all. An account whose pool has no workers keeps its own checks waiting and
 * those of no other: beyond the number of all, each account still gets its share of that, the number divided by the accounts that have checks or
 * are due for one. What one account has beyond its share takes none of another.
 */
export class OpenChecks {
  readonly #of: ReadonlyMap<string, { count: number }>;
  readonly #share: number;
  #all = 0;

  /** @param accounts of stacks that have an open check, or are due for one */
  constructor(accounts: Iterable<string>) {
    this.#of = new Map(Array.from(accounts, (account) => [account, { count: 0 }]));
    this.#share = Math.max(1, Math.floor(MAX_OPEN / Math.max(1, this.#of.size)));
  }

  add({ account }: OfAccount): void {
    this.#all += 1;
    const own = this.#of.get(account);
    if (own !== undefined) own.count += 1;
  }

  /** Whether a further check of the account may be requested. */
  hasRoomFor({ account }: OfAccount): boolean {
    const count = this.#of.get(account)?.count ?? 0;
    if (count >= MAX_OF_ACCOUNT || this.#all >= MAX_WITH_SHARES) return false;
    return this.#all < MAX_OPEN || count < this.#share;
  }
}
