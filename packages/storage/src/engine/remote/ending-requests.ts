import { abortable } from "../abortable.ts";

/** The requests of a stream until a signal aborts; then its reason, even if the client sends nothing. */
export async function* endingRequests<T>(
  requests: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const iterator = requests[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await abortable(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}
