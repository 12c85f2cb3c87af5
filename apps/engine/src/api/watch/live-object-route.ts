import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { describeObject, isOf, LiveObject } from "./live-object.ts";

const Query = Type.Object(
  {
    collection: Type.String({
      minLength: 1,
      maxLength: 64,
      description: "name of a collection of the graph, such as stack status",
    }),
    key: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: "of an object of the account of the caller, such as ACCOUNT/PROJECT/ULID",
    }),
  },
  { additionalProperties: false },
);

/** `/debug/krt/object`: what the live view knows of one object, without its values. */
export function liveObjectRoute(
  fastify: FastifyInstance,
  { live, principalOf }: Pick<ApiParts, "live" | "principalOf">,
): void {
  fastify.get<{ Querystring: Static<typeof Query> }>(
    "/debug/krt/object",
    {
      schema: routeSchema(
        "Show why an object of the live view is what it is, what depends on it or waits for it, and its last changes",
        "ShowLiveObject",
        { 200: LiveObject },
        { querystring: Query },
        { 404: "there is no such collection, or nothing is known of the key" },
      ),
      config: { access: "account-admin" },
    },
    async (request) => {
      const { collection: name, key } = request.query;
      const { account } = principalOf(request);
      const collection = live.inspector.named(name);
      if (collection === undefined) {
        throw new ServerError("not_found", `there is no collection "${name}"`);
      }
      const found = isOf(account, key) ? describeObject(live, collection, key, account) : undefined;
      if (found === undefined) {
        throw new ServerError("not_found", `nothing is known of "${key}" in "${name}"`);
      }
      return found;
    },
  );
}
