import type { IncomingMessage } from "node:http";
import type { Clock } from "@stackwright/base/clock";
import { ServerError } from "./domain/server-error.ts";

/** How long an upload may stand still, and how long it may take. */
const IDLE_MS = 30_000;
const UPLOAD_MS = 3_600_000;

interface UploadBounds {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  /** Singular, with its article, for texts: `an archive`. */
  readonly what: string;
}

/**
 * The bytes of an upload. `invalid_request` where they arrive too slowly, `too_large` beyond the bound. A reader that stops early leaves
 * the rest unread: to end the source would end the connection of the answer.
 */
export async function* timedUpload(
  content: AsyncIterable<Uint8Array>,
  { clock, signal, maxBytes, what }: UploadBounds,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = content[Symbol.asyncIterator]();
  const endMs = clock.monotonicMs() + UPLOAD_MS;
  for (let size = 0; ; ) {
    const step = await inTime(clock, Math.min(IDLE_MS, endMs - clock.monotonicMs()), reader.next());
    signal.throwIfAborted();
    if (step.done === true) return;
    size += step.value.byteLength;
    if (size > maxBytes) {
      throw new ServerError("too_large", `${what} has at most ${maxBytes} bytes`);
    }
    yield step.value;
  }
}

/** Aborts when the connection of an upload ends before its last byte. */
export function uploadSignal(raw: IncomingMessage): AbortSignal {
  const closed = new AbortController();
  raw.once("close", () => {
    if (!raw.complete) closed.abort(new ServerError("invalid_request", "the upload broke off"));
  });
  return closed.signal;
}

/** `invalid_request` where the next part of an upload takes too long. */
async function inTime<T>(clock: Clock, limitMs: number, part: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  using _timer = clock.after(limitMs, () => {
    late.reject(new ServerError("invalid_request", "the upload took too long; begin again"));
  });
  return await Promise.race([part, late.promise]);
}
