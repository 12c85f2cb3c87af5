import type { Writable } from "node:stream";
import { type Clock, sleep } from "@stackwright/base/clock";
import { isRegistryError } from "@stackwright/registry";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { AccountPlaces } from "./account-places.ts";
import type { ApiParts } from "./api-parts.ts";

/** How often the token of a reader is looked at again: with what is kept of it for a second, a stream ends within two. */
const RECHECK_MS = 900;

/** A reader that takes nothing for so long has lost its place: it comes back behind the last event that it has. */
const STALLED_MS = 60_000;

/** Streams that one server serves at a time. What one account may not take is left for the others. */
const STREAM_LIMITS = { all: 2_000, account: 1_500 };

/** Is informed of open streams. */
export interface StreamObserver {
  /** One is opened; the returned function is called when it is over. */
  opens(mode: "run" | "watch"): () => void;
}

type StreamParts = Pick<ApiParts, "clock" | "authorizeAgain" | "stopping" | "streamObserver">;

/** The streams of server-sent events that a server serves. */
export class EventStreams {
  readonly #parts: StreamParts;
  readonly #places: AccountPlaces;

  constructor(parts: StreamParts, limits = STREAM_LIMITS) {
    this.#parts = parts;
    this.#places = new AccountPlaces(limits, "streams of events");
  }

  /**
   * Answers with what `open` resolves with, piece by piece as the reader takes them, or with 204 where that is undefined. The signal
   * that `open` gets aborts when the reader leaves or is no longer allowed to read, and when the server stops; then the
   * reader is asked to come back. One that takes nothing for a minute is cut off. `rate_limited` where there are too many
   * streams of all accounts, or of this one. What `open` rejects with is the answer.
   */
  async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    account: string,
    open: (signal: AbortSignal) => Promise<AsyncIterable<string | Uint8Array> | undefined>,
  ): Promise<FastifyReply> {
    const { stopping } = this.#parts;
    using _place = this.#places.take(account);
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    // It may have left before.
    if (reply.raw.destroyed) gone.abort();
    const signal = AbortSignal.any([gone.signal, stopping]);
    const isOfRun = (request.params as { readonly run?: string } | undefined)?.run !== undefined;
    const over = this.#parts.streamObserver?.opens(isOfRun ? "run" : "watch");
    void endWhenRefused(this.#parts, request, gone, signal);
    try {
      const lines = await open(signal);
      if (lines === undefined) return await reply.code(204).send();
      reply.hijack();
      reply.raw.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        // A connection that is kept for a next request would delay the stop of the server.
        connection: "close",
        "x-request-id": request.id,
        "x-content-type-options": "nosniff",
      });
      for await (const text of lines) {
        if (!reply.raw.write(text)) await drained(reply.raw, this.#parts.clock, signal);
        if (signal.aborted) break;
      }
      // What waits for a reader that takes nothing would be kept for as long as its connection is.
      if (reply.raw.writableNeedDrain) reply.raw.destroy();
      if (stopping.aborted && !gone.signal.aborted) {
        reply.raw.write("event: reconnect\ndata: {}\n\n");
      }
      reply.raw.end();
      return await reply;
    } catch (error) {
      if (!reply.raw.headersSent) throw stopping.aborted ? new ServerError("draining") : error;
      // The answer has begun: all that can be said is that it is not complete. The reader comes back.
      request.log.error({ err: error }, "a stream of events failed");
      reply.raw.destroy();
      return await reply;
    } finally {
      gone.abort();
      over?.();
    }
  }
}

/** Aborts a stream whose reader's token was revoked, or lost its role. A store that is away is no refusal. */
async function endWhenRefused(
  { clock, authorizeAgain }: Pick<ApiParts, "clock" | "authorizeAgain">,
  request: FastifyRequest,
  gone: AbortController,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sleep(clock, RECHECK_MS, signal);
      await authorizeAgain(request);
    } catch (error) {
      const isRefused =
        isRegistryError(error, "REGISTRY_UNAUTHENTICATED") ||
        isRegistryError(error, "REGISTRY_FORBIDDEN") ||
        isServerError(error, "forbidden", "not_found", "unauthenticated");
      if (isRefused) gone.abort();
    }
  }
}

/** A slow reader is waited for: nothing is queued for it. One that takes nothing at all loses its connection. */
async function drained(stream: Writable, clock: Clock, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      signal.removeEventListener("abort", done);
      stalled[Symbol.dispose]();
      resolve();
    };
    const stalled = clock.after(STALLED_MS, () => stream.destroy());
    stream.on("drain", done);
    signal.addEventListener("abort", done, { once: true });
    // A reader that has left does not drain, and its signal does not abort a second time.
    if (signal.aborted) done();
  });
}
