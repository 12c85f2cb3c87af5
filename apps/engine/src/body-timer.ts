import type { FastifyInstance, FastifyRequest } from "fastify";

/** How long the body of a request may take, uploads excepted. */
const BODY_MS = 30_000;

/**
 * Cuts connections whose requests do not arrive in time: a client that sends a byte now and then would
 * otherwise hold a place for as long as it likes. Uploads (`config.upload` of a route) have a limit of
 * their own, on how long they stand still.
 */
export function limitBodyTime(fastify: FastifyInstance, bodyMs: number = BODY_MS): void {
  fastify.addHook("onRequest", async (request, reply) => {
    const { raw } = request;
    if (request.routeOptions.config.upload === true) {
      // Nothing is sent while an archive is judged, which takes as long as the archive is large.
      const { socket } = raw;
      const { timeout = 0 } = socket;
      socket.setTimeout(0);
      reply.raw.once("close", () => socket.setTimeout(timeout));
      return;
    }
    if (!hasUnreadBody(request)) return;
    const timer = setTimeout(() => {
      request.log.warn("a request did not arrive in time");
      raw.socket.destroy();
    }, bodyMs);
    raw.once("end", () => clearTimeout(timer));
    raw.once("close", () => clearTimeout(timer));
  });
}

/**
 * Whether a part of the body has not arrived. An answer that is given nevertheless ends the connection: who sends a body without an end
 * would hold it, and what is left is not worth reading.
 */
export function hasUnreadBody({ raw, headers }: Pick<FastifyRequest, "raw" | "headers">): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = headers;
  const hasBody = encoding !== undefined || (length !== undefined && length !== "0");
  return hasBody && !raw.complete;
}
