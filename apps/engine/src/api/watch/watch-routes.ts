import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { drained, endWhenRefused } from "../event-stream.ts";
import { streamStacks, visibleTo } from "./topic-stream.ts";

/** Streams that one server serves at a time. */
const MAX_STREAMS = 2_000;
/** How long the first view of the store may take. */
const SYNC_MS = 30_000;

const Topics = Type.Object(
  { topics: Type.Literal("stacks", { description: "the topics that are followed" }) },
  { additionalProperties: false },
);
const Format = Type.Object(
  { format: Type.Optional(Type.Union([Type.Literal("mermaid"), Type.Literal("dot")])) },
  { additionalProperties: false },
);

/** `/watch`: the live view as server-sent events, and `/debug/krt`: the graph that it is derived by. */
export function watchRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { live, clock, principalOf } = parts;
  let streams = 0;
  fastify.get<{ Querystring: Static<typeof Topics> }>(
    "/watch",
    {
      schema: routeSchema(
        "Follow the status of all stacks that the caller may see (text/event-stream)",
        "WatchTopics",
        { 200: Type.String({ description: "text/event-stream" }) },
        { querystring: Topics, produces: ["text/event-stream"] },
      ),
      config: { access: "viewer" },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      if (streams >= MAX_STREAMS) throw new ServerError("rate_limited", "too many streams");
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      if (reply.raw.destroyed) gone.abort();
      const signal = AbortSignal.any([gone.signal, parts.stopping]);
      streams += 1;
      void endWhenRefused(parts, request, gone, signal);
      try {
        await synced(parts, signal);
        reply.hijack();
        reply.raw.writeHead(200, {
          "content-type": "text/event-stream",
          "cache-control": "no-store",
          // A connection that is kept for a next request would delay the stop of the server.
          connection: "close",
          "x-request-id": request.id,
          "x-content-type-options": "nosniff",
        });
        const header = request.headers["last-event-id"];
        const position = typeof header === "string" ? header : undefined;
        const isVisible = visibleTo(principalOf(request));
        for await (const text of streamStacks({ live, clock }, isVisible, position, signal)) {
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
        request.log.error({ err: error }, "a stream of the live view failed");
        reply.raw.destroy();
        return await reply;
      } finally {
        gone.abort();
        streams -= 1;
      }
    },
  );

  fastify.get<{ Querystring: Static<typeof Format> }>(
    "/debug/krt",
    {
      schema: routeSchema(
        "Show the collections of the live view, and how they depend on each other",
        "ShowLiveGraph",
        {
          200: Type.Object({
            synced: Type.Boolean(),
            stacks: Type.Integer(),
            collections: Type.Array(Type.Object({}, { additionalProperties: true })),
            diagram: Type.String(),
          }),
        },
        { querystring: Format },
      ),
      config: { access: "admin" },
    },
    async (request) => {
      const { inspector, stacks } = live;
      const diagram = request.query.format === "dot" ? inspector.dot() : inspector.mermaid();
      const collections = inspector.collections().map((one) => ({ ...one }));
      return { synced: stacks.synced, stacks: stacks.size, collections, diagram };
    },
  );
}

/** Waits for the first view of the store; `store_unavailable` where it does not come. */
async function synced(
  { live, clock }: Pick<ApiParts, "live" | "clock">,
  signal: AbortSignal,
): Promise<void> {
  if (live.stacks.synced) return;
  const late = new AbortController();
  using _ = clock.after(SYNC_MS, () => late.abort());
  try {
    await live.stacks.whenSynced({ signal: AbortSignal.any([signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    throw new ServerError("store_unavailable", "the server has not read its store yet");
  }
}
