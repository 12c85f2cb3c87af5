const KEY = "stackwright.token";

/** Where a token is kept between loads of the page: the session of one tab, which ends with it. */
type TokenStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Who uses the console. The token is in the memory of the tab and in its session storage, and never in an address. */
export class Session {
  readonly #storage: TokenStorage;
  readonly #listeners = new Set<() => void>();
  #token: string | undefined;
  #problem: string | undefined;

  constructor(storage: TokenStorage) {
    this.#storage = storage;
    this.#token = storage.getItem(KEY) ?? undefined;
  }

  get token(): string | undefined {
    return this.#token;
  }

  /** Why the last session ended, where the user did not end it. */
  get problem(): string | undefined {
    return this.#problem;
  }

  signIn(token: string): void {
    this.#token = token;
    this.#problem = undefined;
    this.#storage.setItem(KEY, token);
    this.#changed();
  }

  signOut(problem?: string): void {
    this.#token = undefined;
    this.#problem = problem;
    this.#storage.removeItem(KEY);
    this.#changed();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
