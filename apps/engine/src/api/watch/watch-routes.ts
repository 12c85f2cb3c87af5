import type { Principal } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import type { LiveView } from "../../live/live-view.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { requireAllStacks } from "../authorize.ts";
import type { EventStreams } from "../event-streams.ts";
import { liveObjectRoute } from "./live-object-route.ts";
import { questionOf } from "./question-of.ts";
import { isOfOneStack } from "./resource-topics.ts";
import { openTopics, TOPIC_PATTERN, visibleTo } from "./topic.ts";
import { streamTopics } from "./topic-stream.ts";

/** Topics of one stream. */
const MAX_TOPICS = 10;

const Topics = Type.Object(
  {
    topics: Type.String({
      pattern: `^${TOPIC_PATTERN}(?:,${TOPIC_PATTERN}){0,${MAX_TOPICS - 1}}$`,
      description:
        "stacks, runs, run:ID, queue, reactions, registry, resources:PROJECT/STACK; several are separated by commas",
    }),
  },
  { additionalProperties: false },
);
const Format = Type.Object(
  {
    format: Type.Optional(Type.Union([Type.Literal("mermaid"), Type.Literal("dot")])),
    stack: Type.Optional(
      Type.String({
        pattern: "^[^/]{1,64}/[^/]{1,128}$",
        description: "PROJECT/STACK whose status is explained",
      }),
    ),
  },
  { additionalProperties: false },
);
const Explained = Type.Object(
  {
    collection: Type.String(),
    key: Type.String({ description: "of the object" }),
    turn: Type.Optional(
      Type.Integer({ description: "in which it was last derived; it counts up from the start" }),
    ),
    cause: Type.Optional(
      Type.Object(
        { collection: Type.String(), key: Type.String() },
        { description: "the object whose change it was; none where a collection came into sync" },
      ),
    ),
    dependencies: Type.Array(
      Type.Object({
        collection: Type.String(),
        filters: Type.String({ description: "what is fetched, in words" }),
        matches: Type.Integer({ description: "objects that are found now" }),
      }),
    ),
  },
  { title: "Explained" },
);

/** `/watch`: the live view as server-sent events, and `/debug/krt`: the graph that it is derived by. */
export function watchRoutes(
  fastify: FastifyInstance,
  parts: ApiParts,
  streams: EventStreams,
): void {
  const { live, clock, principalOf } = parts;
  const topicOf = openTopics(live);
  fastify.get<{ Querystring: Static<typeof Topics> }>(
    "/watch",
    {
      schema: routeSchema(
        "Follow what the caller may see of stacks, their resources, runs, queues, reactions and the registry (text/event-stream)",
        "WatchTopics",
        { 200: Type.String({ description: "text/event-stream" }) },
        { querystring: Topics, produces: ["text/event-stream"] },
      ),
      config: { access: "viewer", limitsStacks: true },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const header = request.headers["last-event-id"];
      const position = typeof header === "string" ? header : undefined;
      const principal = principalOf(request);
      const isVisible = visibleTo(principal);
      const names = [...new Set(request.query.topics.split(","))];
      if (!names.every(isOfOneStack)) requireAllStacks(principal);
      const topics = names.map((name) => topicOf(name, principal.account));
      return streams.answer(request, reply, principal.account, async (signal) =>
        streamTopics({ topics, epoch: live.epoch, clock, isVisible, position }, signal),
      );
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
            edges: Type.Array(
              Type.Object({
                from: Type.String(),
                to: Type.String({ description: "the collection that reads" }),
                type: Type.String({ description: "input, or fetch" }),
                count: Type.Integer({ description: "fetches" }),
                filters: Type.Array(Type.String(), {
                  description: "what is fetched by, such as key",
                }),
              }),
            ),
            diagram: Type.String(),
            why: Type.Optional(Explained),
          }),
        },
        { querystring: Format },
        { 404: "there is no such stack" },
      ),
      config: { access: "account-admin" },
    },
    async (request) => {
      const { inspector, stacks } = live;
      const diagram = request.query.format === "dot" ? inspector.dot() : inspector.mermaid();
      const collections = inspector.collections().map((one) => ({ ...one }));
      const edges = inspector
        .edges()
        .map((one) => ({ ...one, filters: [...new Set(one.filters.map(questionOf))] }));
      const { stack } = request.query;
      const why = stack === undefined ? undefined : explainStack(live, principalOf(request), stack);
      return {
        synced: stacks.synced,
        stacks: stacks.size,
        collections,
        edges,
        diagram,
        ...(why !== undefined && { why }),
      };
    },
  );
  liveObjectRoute(fastify, parts);
}

/** Why the status of a stack is what it is. Keys and words alone: no values of objects. */
function explainStack(
  { inspector, stacks }: LiveView,
  { account }: Principal,
  named: string,
): Static<typeof Explained> {
  const found = stacks
    .list()
    .find((one) => one.account === account && `${one.project}/${one.name}` === named);
  const explained = found && inspector.explainOutput(stacks, found.key);
  if (explained === undefined) throw new ServerError("not_found", `there is no stack "${named}"`);
  const { collection, input, cause, dependencies } = explained;
  return {
    collection,
    key: input,
    ...(cause !== undefined && { turn: cause.turn }),
    ...(cause?.collection !== undefined &&
      cause.key !== undefined && {
        // A key names its account, and nothing of another one is shown.
        cause: {
          collection: cause.collection,
          key: cause.key.startsWith(`${account}/`) ? cause.key : "",
        },
      }),
    dependencies: dependencies.map((one) => ({ ...one, filters: questionOf(one.filters) })),
  };
}
