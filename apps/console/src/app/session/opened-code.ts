/** What of a window tells the address that it shows. */
type AddressWindow = Pick<Window, "location" | "history" | "addEventListener">;

const CODE = /^#code=([\w-]{1,128})$/;

/**
 * The code of an address that the tab was opened with, or led to later. It leaves the address at once, and so the history of the browser,
 * whether anybody is signed in or not. It is used by no one but a user who was shown whose it is.
 */
export class OpenedCode {
  readonly #window: AddressWindow;
  readonly #listeners = new Set<() => void>();
  #value: string | undefined;

  constructor(shown: AddressWindow) {
    this.#window = shown;
    this.#read();
    shown.addEventListener("hashchange", () => this.#read());
  }

  /** The code that nothing was done about yet. */
  get value(): string | undefined {
    return this.#value;
  }

  /** Done with it. */
  readonly drop = (): void => this.#set(undefined);

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #read(): void {
    const { location, history } = this.#window;
    const [, code] = CODE.exec(location.hash) ?? [];
    if (code === undefined) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    this.#set(code);
  }

  #set(code: string | undefined): void {
    this.#value = code;
    for (const listener of this.#listeners) listener();
  }
}
