import type { FastifyReply } from "fastify";

/** Aborts when the caller leaves. */
export function callerGone({ raw }: Pick<FastifyReply, "raw">): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort(new Error("the caller has gone away")));
  return gone.signal;
}

/** Aborts when the caller leaves, and when the server stops. */
export function endOfRequest(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  return AbortSignal.any([callerGone(reply), stopping]);
}
