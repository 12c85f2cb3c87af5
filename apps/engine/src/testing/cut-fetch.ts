/** A `fetch` whose streams of events are cut off. */
interface CutFetch {
  readonly fetch: typeof fetch;
  /** Streams that were opened so far. */
  readonly opened: () => number;
}

/**
 * A `fetch` that breaks the connection of a stream of events behind a number of its events, and so many bytes of the next one. The numbers
 * are those of the first stream, the second one and so on; streams without a number are whole.
 */
export function cutFetch(
  cutAfter: (stream: number) => number | undefined,
  bytesOfNext = 0,
): CutFetch {
  let opened = 0;
  return {
    opened: () => opened,
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
      if (!isStream || answer.body === null) return answer;
      const count = cutAfter(opened);
      opened += 1;
      if (count === undefined) return answer;
      const body = answer.body.pipeThrough(cutBehind(count, bytesOfNext));
      return new Response(body, { status: answer.status, headers: answer.headers });
    },
  };
}

/** What ends with an error behind so many events. Comments and the time to connect again are none. */
function cutBehind(count: number, bytesOfNext: number): TransformStream<Uint8Array, Uint8Array> {
  let events = 0;
  let rest = Buffer.alloc(0);
  return new TransformStream({
    transform: (chunk, controller) => {
      rest = Buffer.concat([rest, chunk]);
      let at = 0;
      while (events < count) {
        const end = rest.indexOf("\n\n", at);
        if (end === -1) break;
        if (/^data:/m.test(rest.subarray(at, end).toString())) events += 1;
        at = end + 2;
      }
      // Nothing of an event is sent before all of it is there, but the part behind which it is cut.
      const isOver = events >= count && rest.length - at >= bytesOfNext;
      if (isOver) at += bytesOfNext;
      if (at > 0) controller.enqueue(Uint8Array.from(rest.subarray(0, at)));
      rest = rest.subarray(at);
      // What was sent is read before the error is.
      if (isOver) setImmediate(() => controller.error(new TypeError("terminated")));
    },
  });
}
