import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import type { EventStreams } from "../event-streams.ts";
import { streamStacks, visibleTo } from "./topic-stream.ts";

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
export function watchRoutes(
  fastify: FastifyInstance,
  parts: ApiParts,
  streams: EventStreams,
): void {
  const { live, clock, principalOf } = parts;
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
      const header = request.headers["last-event-id"];
      const position = typeof header === "string" ? header : undefined;
      const isVisible = visibleTo(principalOf(request));
      return streams.answer(request, reply, async (signal) => {
        await synced(parts, signal);
        return streamStacks({ live, clock }, isVisible, position, signal);
      });
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
  const late = new AbortController();
  using _ = clock.after(SYNC_MS, () => late.abort());
  try {
    await live.stackChanges.whenSynced({ signal: AbortSignal.any([signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    throw new ServerError("store_unavailable", "the server has not read its store yet");
  }
}
