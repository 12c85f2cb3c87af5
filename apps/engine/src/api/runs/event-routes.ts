import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { streamRunLog } from "../../logs/stream-run-log.ts";
import { type ApiParts, RunParams, routeSchema, stackOf } from "../api-parts.ts";
import { drained, endWhenRefused } from "../event-stream.ts";

/** Streams that one server serves at a time. */
const MAX_STREAMS = 2_000;

/** `/projects/{project}/stacks/{stack}/runs/{run}/events`: the log of a run as server-sent events. */
export function eventRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  let streams = 0;
  const After = Type.Object(
    {
      after: Type.Optional(Type.Integer({ minimum: 0 })),
      follow: Type.Optional(
        Type.Union([Type.Literal("true"), Type.Literal("false")], {
          description: "false: the stream ends with the last event so far",
        }),
      ),
    },
    { additionalProperties: false },
  );
  fastify.get<{ Params: Static<typeof RunParams>; Querystring: Static<typeof After> }>(
    "/projects/:project/stacks/:stack/runs/:run/events",
    {
      schema: routeSchema(
        "Follow the events of a run (text/event-stream)",
        "FollowRun",
        { 200: Type.String({ description: "text/event-stream" }), 204: Type.Null() },
        { params: RunParams, querystring: After, produces: ["text/event-stream"] },
      ),
      config: { access: "viewer" },
      // Its answer would wait for the end of the run.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, parts.principalOf(request), request.params);
      const run = { stack: reference, run: request.params.run };
      if (streams >= MAX_STREAMS) throw new ServerError("rate_limited", "too many streams");
      const after = request.query.after ?? lastEventId(request.headers["last-event-id"], run.run);
      const follow = request.query.follow !== "false";
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      // It may have left while its stack was looked for.
      if (reply.raw.destroyed) gone.abort();
      streams += 1;
      const signal = AbortSignal.any([gone.signal, parts.stopping]);
      void endWhenRefused(parts, request, gone, signal);
      try {
        const lines = await streamRunLog(parts, run, { after, follow }, signal);
        // A reader that has seen the end need not come back.
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
          if (!reply.raw.write(text)) await drained(reply.raw, signal);
          if (signal.aborted) break;
        }
        if (parts.stopping.aborted && !gone.signal.aborted) {
          reply.raw.write("event: reconnect\ndata: {}\n\n");
        }
        reply.raw.end();
        return await reply;
      } catch (error) {
        if (!reply.raw.headersSent) throw error;
        // The answer has begun: all that can be said is that it is not complete. The reader comes back.
        request.log.error({ err: error }, "a stream of events failed");
        reply.raw.destroy();
        return await reply;
      } finally {
        gone.abort();
        streams -= 1;
      }
    },
  );
}

/** The sequence number behind the last colon of an id that this API gave out for the run. */
function lastEventId(header: string | string[] | undefined, run: string): number {
  if (typeof header !== "string") return 0;
  const [, id, seq = ""] = /^(.*):([0-9]{1,15})$/.exec(header) ?? [];
  return id === run ? Number(seq) : 0;
}
