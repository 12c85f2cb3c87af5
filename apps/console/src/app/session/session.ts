const KEY = "stackwright.token";

/** Where a token is kept between loads of the page: the session of one tab, which ends with it. */
type TokenStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** What requests carry: a token, or the cookie of a login session, which the page cannot read, with what proves that the page is the server's. */
export type SessionCredential =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "login"; readonly csrf: string };

/**
 * Who uses the console. A token is in the memory of the tab and in its session storage, and never in an address; a login session is kept by
 * the browser for all tabs.
 */
export class Session {
  readonly #storage: TokenStorage;
  readonly #listeners = new Set<() => void>();
  #credential: SessionCredential | undefined;
  #problem: string | undefined;

  constructor(storage: TokenStorage) {
    this.#storage = storage;
    const token = storage.getItem(KEY);
    this.#credential = token === null ? undefined : { kind: "token", token };
  }

  get credential(): SessionCredential | undefined {
    return this.#credential;
  }

  /** Why the last session ended, where the user did not end it. */
  get problem(): string | undefined {
    return this.#problem;
  }

  signIn(credential: SessionCredential): void {
    this.#credential = credential;
    this.#problem = undefined;
    if (credential.kind === "token") this.#storage.setItem(KEY, credential.token);
    this.#changed();
  }

  /** Leaves the pages. The server has ended a login session before, or does not take it any more. */
  signOut(problem?: string): void {
    this.#credential = undefined;
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
