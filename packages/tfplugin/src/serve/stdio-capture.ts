import { type StdioData, StdioData_Channel } from "@stackwright/proto/plugin";

/** What is kept while there is no reader; older output makes way. */
const MAX_KEPT_BYTES = 1024 * 1024;

/**
 * Holds back what a program prints, to hand it to the client over gRPC. The bound is on bytes: where the client does
 * not read, the oldest output is dropped.
 */
export class StdioCapture {
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #wake: (() => void) | undefined;

  write(data: Buffer): void {
    if (data.length === 0) return;
    this.#kept.push(data);
    this.#keptBytes += data.length;
    while (this.#keptBytes > MAX_KEPT_BYTES && this.#kept.length > 1) {
      this.#keptBytes -= this.#kept.shift()?.length ?? 0;
    }
    this.#wake?.();
  }

  /** All output from now on, and what was kept, until the signal aborts. For one reader at a time. */
  async *read(signal: AbortSignal): AsyncGenerator<StdioData, void, undefined> {
    const wake = (): void => this.#wake?.();
    signal.addEventListener("abort", wake, { once: true });
    while (!signal.aborted) {
      const data = this.#kept.shift();
      if (data !== undefined) {
        this.#keptBytes -= data.length;
        yield { channel: StdioData_Channel.STDOUT, data };
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
  }
}

type Write = typeof process.stdout.write;

/**
 * Takes standard output away from the program: after the call everything that is printed goes into the tap. The first
 * line that a client reads there has to be the handshake, and a library that greets its users would break it.
 */
export function captureStdout(stream: NodeJS.WriteStream, tap: StdioCapture): Disposable {
  const original: Write = stream.write.bind(stream);
  const write: Write = (
    chunk: string | Uint8Array,
    encodingOrDone?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ): boolean => {
    const encoding = typeof encodingOrDone === "string" ? encodingOrDone : "utf8";
    tap.write(typeof chunk === "string" ? Buffer.from(chunk, encoding) : Buffer.from(chunk));
    const callback = typeof encodingOrDone === "function" ? encodingOrDone : done;
    if (callback !== undefined) queueMicrotask(() => callback());
    return true;
  };
  stream.write = write;
  return {
    [Symbol.dispose]: () => {
      stream.write = original;
    },
  };
}
