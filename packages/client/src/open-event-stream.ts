import { ClientError } from "./errors.ts";
import { readEvents, type StreamEvent } from "./event-stream.ts";
import type { ResolvedServerClientOptions } from "./options.ts";
import { sendRequest } from "./send-request.ts";

/** A server sends a comment every 15 s: a stream that is silent for longer has lost its connection. */
const SILENCE_MS = 45_000;

/** Time to the first byte of the stream. */
const OPEN_MS = 30_000;

/**
 * The server-sent events of one connection, undefined for a sign of life, and "ended" where the server says that nothing follows.
 * Rejects with a retryable `ClientError` when the connection is cut off, is silent, or the server stops.
 */
export async function* openEventStream(
  options: ResolvedServerClientOptions,
  { target, lastEventId }: { readonly target: string; readonly lastEventId: string },
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent | undefined | "ended"> {
  const { clock } = options;
  const silent = new AbortController();
  const abort = (): void => {
    silent.abort(new ClientError("CLIENT_TIMEOUT", "the stream of events is silent"));
  };
  const gone = signal === undefined ? silent.signal : AbortSignal.any([silent.signal, signal]);
  let timer = clock.after(OPEN_MS, abort);
  try {
    const request = {
      method: "GET",
      target,
      headers: {
        accept: "text/event-stream",
        ...(lastEventId !== "" && { "last-event-id": lastEventId }),
      },
      isRepeatable: true,
    };
    // The loop of the caller repeats.
    const once = { ...options, retry: { ...options.retry, maxAttempts: 1 } };
    const answer = await sendRequest(once, request, gone, async (response) => response);
    if (answer.status === 204) {
      yield "ended";
      return;
    }
    const type = answer.headers.get("content-type") ?? "";
    if (answer.body === null || !type.startsWith("text/event-stream")) {
      throw new ClientError(
        "CLIENT_UNEXPECTED_ANSWER",
        `the server answered with "${type}" instead of a stream of events`,
      );
    }
    const chunks = answer.body as unknown as AsyncIterable<Uint8Array>;
    for await (const event of readEvents(lifeOf(chunks))) {
      if (event?.event === "reconnect") {
        throw new ClientError("CLIENT_UNAVAILABLE", "the server is stopping");
      }
      yield event;
    }
  } catch (error) {
    if (gone.aborted) throw gone.reason;
    if (error instanceof ClientError) throw error;
    throw new ClientError("CLIENT_UNREACHABLE", "the stream of events was cut off", {
      cause: error,
    });
  } finally {
    timer[Symbol.dispose]();
    silent.abort();
  }

  async function* lifeOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      timer[Symbol.dispose]();
      yield chunk;
      timer = clock.after(SILENCE_MS, abort);
    }
  }
}
