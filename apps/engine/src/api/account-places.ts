import { ServerError } from "../domain/server-error.ts";

/** How much is done at the same time. */
interface PlaceLimits {
  /** Of all accounts. */
  readonly all: number;
  /** Of one. */
  readonly account: number;
}

/** The places of one server for what is large: uploads, or what is named. */
export class AccountPlaces {
  readonly #limits: PlaceLimits;
  readonly #what: string;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limits: PlaceLimits, what = "uploads") {
    this.#limits = limits;
    this.#what = what;
  }

  /** Takes a place until it is disposed of. `rate_limited` where there is none. */
  take(account: string): Disposable {
    const own = this.#taken.get(account) ?? 0;
    const { all, account: mine } = this.#limits;
    if (this.#all >= all || own >= mine) {
      throw new ServerError(
        "rate_limited",
        `the server takes ${all} ${this.#what} at the same time, ${mine} of one account; try again later`,
        { retryAfterMs: 5_000 },
      );
    }
    this.#all += 1;
    this.#taken.set(account, own + 1);
    return {
      [Symbol.dispose]: () => {
        this.#all -= 1;
        const rest = (this.#taken.get(account) ?? 1) - 1;
        if (rest > 0) this.#taken.set(account, rest);
        else this.#taken.delete(account);
      },
    };
  }
}
