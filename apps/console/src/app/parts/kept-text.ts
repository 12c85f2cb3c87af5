/** What is typed is written to the address when nothing was typed for that long: each write is an entry that the browser limits. */
const WRITE_MS = 200;

/** A text that an address has, too: typed here and written there later, or changed there from outside and taken over here. */
export class KeptText {
  readonly #listeners = new Set<() => void>();
  #value: string;
  /** What the address said last. */
  #given: string;
  /** What was written, and the address does not say yet: pages follow their address later. */
  #written: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(given: string) {
    this.#value = given;
    this.#given = given;
  }

  readonly value = (): string => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Takes what the user typed or chose. */
  type(next: string, write: ((value: string) => void) | undefined): void {
    this.end();
    this.#show(next);
    if (write === undefined) return;
    this.#timer = setTimeout(() => {
      if (next === (this.#written.at(-1) ?? this.#given)) return;
      this.#written.push(next);
      write(next);
    }, WRITE_MS);
  }

  /** Takes what the address says now: a text of its own that was not written from here takes the place of what is typed. */
  follow(given: string): void {
    if (given === this.#given) return;
    this.#given = given;
    const own = this.#written.indexOf(given);
    this.#written = own === -1 ? [] : this.#written.slice(own + 1);
    if (own !== -1) return;
    this.end();
    this.#show(given);
  }

  /** Nothing is written any more: the address is that of another page. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #show(value: string): void {
    if (value === this.#value) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}
