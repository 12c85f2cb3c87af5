import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { LogReader } from "../../logs/log-reader.ts";
import { streamRunLog } from "../../logs/stream-run-log.ts";
import { type ApiParts, RunParams, routeSchema, stackOf } from "../api-parts.ts";
import type { EventStreams } from "../event-streams.ts";

/** Sequence numbers have at most 15 digits, as in the ids of events. */
const MAX_SEQUENCE = 999_999_999_999_999;

/** `/projects/{project}/stacks/{stack}/runs/{run}/events`: the log of a run as server-sent events. */
export function eventRoutes(
  fastify: FastifyInstance,
  parts: ApiParts,
  streams: EventStreams,
): void {
  const logs = new LogReader(parts);
  const After = Type.Object(
    {
      after: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_SEQUENCE })),
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
      const principal = parts.principalOf(request);
      const { reference } = await stackOf(parts, principal, request.params);
      const run = { stack: reference, run: request.params.run };
      const after = request.query.after ?? lastEventId(request.headers["last-event-id"], run.run);
      const follow = request.query.follow !== "false";
      // A reader that has seen the end need not come back.
      return streams.answer(request, reply, principal.account, async (signal) =>
        streamRunLog({ ...parts, logs }, run, { after, follow }, signal),
      );
    },
  );
}

/** The sequence number behind the last colon of an id that this API gave out for the run. */
function lastEventId(header: string | string[] | undefined, run: string): number {
  if (typeof header !== "string") return 0;
  const [, id, seq = ""] = /^(.*):([0-9]{1,15})$/.exec(header) ?? [];
  return id === run ? Number(seq) : 0;
}
