function add(target: object, name: string, value: unknown): void {
  if (name in target) return;
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

class SuppressedErrorOfOlderNode extends Error {
  override readonly name = "SuppressedError";
  readonly error: unknown;
  readonly suppressed: unknown;

  constructor(error: unknown, suppressed: unknown, message?: string) {
    super(message);
    this.error = error;
    this.suppressed = suppressed;
  }
}

/** Ends what was given to it, the last first; the first failure is thrown with the later ones around it. */
class AsyncDisposableStackOfOlderNode {
  #ends: (() => unknown)[] = [];
  #disposed = false;

  get disposed(): boolean {
    return this.#disposed;
  }

  use<T extends Partial<AsyncDisposable & Disposable> | null | undefined>(value: T): T {
    this.#refuseWhenDisposed();
    if (value === null || value === undefined) return value;
    const end = value[Symbol.asyncDispose] ?? value[Symbol.dispose];
    if (typeof end !== "function") throw new TypeError("The value is not disposable");
    this.#ends.push(() => end.call(value as never));
    return value;
  }

  adopt<T>(value: T, onDispose: (value: T) => unknown): T {
    this.defer(() => onDispose(value));
    return value;
  }

  defer(onDispose: () => unknown): void {
    this.#refuseWhenDisposed();
    this.#ends.push(onDispose);
  }

  move(): AsyncDisposableStackOfOlderNode {
    this.#refuseWhenDisposed();
    const moved = new AsyncDisposableStackOfOlderNode();
    moved.#ends = this.#ends;
    this.#ends = [];
    this.#disposed = true;
    return moved;
  }

  async disposeAsync(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    const ends = this.#ends.reverse();
    this.#ends = [];
    let failure: { readonly error: unknown } | undefined;
    for (const end of ends) {
      try {
        // One ends before the next begins: a later one may stand on an earlier one.
        await end();
      } catch (error) {
        failure = {
          error:
            failure === undefined ? error : new SuppressedErrorOfOlderNode(error, failure.error),
        };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }

  #refuseWhenDisposed(): void {
    if (this.#disposed) throw new ReferenceError("The stack is disposed already");
  }
}

/**
 * Adds what the program uses of the language and Node 20 or 22 does not have: the executable of the bridge runs under the Node of
 * its users, not under the one that Stackwright brings. Nothing is replaced that is there.
 */
export function supportOlderNode(): void {
  add(Promise, "withResolvers", function withResolvers<T>(this: PromiseConstructor) {
    let resolve: (value: T | PromiseLike<T>) => void = () => undefined;
    let reject: (reason?: unknown) => void = () => undefined;
    const promise = new this<T>((done, fail) => {
      resolve = done;
      reject = fail;
    });
    return { promise, resolve, reject };
  });

  add(URL, "parse", (text: string, base?: string): URL | null =>
    URL.canParse(text, base) ? new URL(text, base) : null,
  );
  add(globalThis, "SuppressedError", SuppressedErrorOfOlderNode);
  add(globalThis, "AsyncDisposableStack", AsyncDisposableStackOfOlderNode);
}
