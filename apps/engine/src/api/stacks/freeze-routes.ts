import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type FreezeTarget, freeze, unfreeze } from "../../queue/freeze.ts";
import {
  type ApiParts,
  checkProjectName,
  ProjectParams,
  routeSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { FreezeView, freezeViewOf, readFreeze } from "./freeze-view.ts";

const NewFreeze = Type.Object(
  {
    reason: Type.String({ minLength: 1, maxLength: 1024 }),
    expires_in_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_536_000 })),
  },
  { additionalProperties: false, title: "NewFreeze" },
);

type InPlace = { Params: Static<typeof StackParams> };

/** What can be frozen, with the texts and names of its routes. */
const PLACES = [
  {
    path: "/projects/:project/freeze",
    params: ProjectParams,
    what: "project",
    names: ["ShowProjectFreeze", "FreezeProject", "UnfreezeProject"],
  },
  {
    path: "/projects/:project/stacks/:stack/freeze",
    params: StackParams,
    what: "stack",
    names: ["ShowFreeze", "FreezeStack", "UnfreezeStack"],
  },
] as const;

/** `/projects/{project}/freeze` and `/projects/{project}/stacks/{stack}/freeze` */
export function freezeRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { principalOf } = parts;
  for (const { path, params, what, names } of PLACES) {
    const [showName, putName, deleteName] = names;
    const targetOf = async (request: FastifyRequest<InPlace>): Promise<FreezeTarget> => {
      const principal = principalOf(request);
      const { project } = request.params;
      checkProjectName(project);
      if (what === "stack") return (await stackOf(parts, principal, request.params)).reference;
      return { account: principal.account, project };
    };

    fastify.get<InPlace>(
      path,
      {
        schema: routeSchema(
          `Show the freeze of a ${what}`,
          showName,
          { 200: FreezeView },
          { params },
        ),
        config: { access: "viewer" },
      },
      async (request) => {
        const found = await readFreeze(parts, await targetOf(request));
        if (found === undefined) throw new ServerError("not_found", `the ${what} is not frozen`);
        return found;
      },
    );

    fastify.put<InPlace & { Body: Static<typeof NewFreeze> }>(
      path,
      {
        schema: routeSchema(
          `Freeze a ${what}: plans are made, and none begins to be applied`,
          putName,
          { 200: FreezeView, 201: FreezeView },
          { params, body: NewFreeze },
          { 409: "the project is being deleted" },
        ),
        config: { access: "admin" },
      },
      async (request, reply) => {
        const { reason, expires_in_seconds: seconds } = request.body;
        const made = await freeze(parts.audited(request), await targetOf(request), {
          actor: principalOf(request).actor,
          reason,
          forMs: seconds === undefined ? undefined : seconds * 1_000,
        });
        return reply.code(made.isNew ? 201 : 200).send(freezeViewOf(made.freeze));
      },
    );

    fastify.delete<InPlace>(
      path,
      {
        schema: routeSchema(
          `End the freeze of a ${what}`,
          deleteName,
          { 204: Type.Null() },
          { params },
        ),
        config: { access: "admin" },
      },
      async (request, reply) => {
        await unfreeze(parts.audited(request), await targetOf(request));
        return reply.code(204).send();
      },
    );
  }
}
