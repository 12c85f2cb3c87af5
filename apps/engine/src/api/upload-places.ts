import { ServerError } from "../domain/server-error.ts";

/** Uploads that a server takes at the same time, and those of one account: each has a file and an unpacking stream. */
const MAX_UPLOADS = 16;
const MAX_ACCOUNT_UPLOADS = 4;

/** The places for uploads of one server. */
export class UploadPlaces {
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** Takes a place until it is disposed of. `rate_limited` where there is none. */
  take(account: string): Disposable {
    const own = this.#taken.get(account) ?? 0;
    if (this.#all >= MAX_UPLOADS || own >= MAX_ACCOUNT_UPLOADS) {
      throw new ServerError(
        "rate_limited",
        `the server takes ${MAX_UPLOADS} uploads at the same time, ${MAX_ACCOUNT_UPLOADS} of one account; try again later`,
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
