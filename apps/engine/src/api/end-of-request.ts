import type { FastifyReply } from "fastify";

/** Aborts when the caller leaves, and when the server stops. */
export function endOfRequest({ raw }: FastifyReply, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  return AbortSignal.any([gone.signal, stopping]);
}
