import { isAccountAdmin, type Principal } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";

const SessionView = Type.Object(
  {
    id: Type.String(),
    user: Type.String(),
    created_at: Type.String(),
    used_at: Type.String({ description: "the last use, to some minutes" }),
    remote_address: Type.String(),
    browser: Type.String(),
  },
  { title: "LoginSession" },
);
const SessionParams = Type.Object({ session: Type.String({ pattern: "^session-[0-9a-f]{12}$" }) });

/** `/sessions`: browsers in which the caller is signed in; for admins those of all users of the account. */
export function sessionRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { sessions, credentials, principalOf } = parts;
  const config = { access: "self" } as const;
  /** A session, or a token that is not limited to less than its user may: a session may do all of that. */
  const managesSessions = async ({ account, user, credential }: Principal): Promise<boolean> => {
    if (user === undefined) return false;
    const own = (await credentials.list(account)).find(({ actor }) => actor === credential);
    return own === undefined || isAccountAdmin(own);
  };

  fastify.get(
    "/sessions",
    {
      schema: routeSchema("List login sessions that are not over", "ListSessions", {
        200: Type.Object({ sessions: Type.Array(SessionView) }),
      }),
      config,
    },
    async (request) => {
      const principal = principalOf(request);
      const isAdmin = isAccountAdmin(principal);
      if (!isAdmin && !(await managesSessions(principal))) return { sessions: [] };
      const all = await sessions.list(principal.account, isAdmin ? undefined : principal.user);
      return {
        sessions: all.map((one) => ({
          id: one.id,
          user: one.user,
          created_at: timeOf(one.createdAtMs),
          used_at: timeOf(one.usedAtMs),
          remote_address: one.remoteAddress,
          browser: one.browser,
        })),
      };
    },
  );

  fastify.delete<{ Params: Static<typeof SessionParams> }>(
    "/sessions/:session",
    {
      schema: routeSchema(
        "End a login session",
        "EndSession",
        { 204: Type.Null() },
        { params: SessionParams },
      ),
      config,
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { account, user } = principal;
      const { session } = request.params;
      const isAdmin = isAccountAdmin(principal);
      const mayEnd = isAdmin || (await managesSessions(principal));
      const ended = mayEnd && (await sessions.end(account, session, isAdmin ? undefined : user));
      if (!ended) throw new ServerError("not_found", `there is no session "${session}"`);
      return reply.code(204).send();
    },
  );
}
