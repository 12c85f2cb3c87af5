import type { FastifyReply } from "fastify";

/**
 * Aborts when the client goes away before it was answered. (The signal that fastify gives aborts as well
 * when a body was read to its end as a stream, which is the normal course of an upload.)
 */
export function clientSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) controller.abort(new Error("the client went away"));
  });
  return controller.signal;
}
