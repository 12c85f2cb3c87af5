import type { FastifyInstance } from "fastify";
import { TfeError } from "../errors.ts";
import { one, page, type ResourceObject } from "../json-api/document.ts";
import {
  ADMINISTERS,
  callerOf,
  documentOf,
  memberOf,
  type RouteContext,
  requireAdmin,
  send,
} from "./route-context.ts";

type InOrganization = {
  Params: { readonly organization: string };
  Querystring: Readonly<Record<string, unknown>>;
};

/** The account of the caller as an organization, its projects, and the caller itself. */
export function organizationRoutes(fastify: FastifyInstance, context: RouteContext): void {
  const { port } = context;
  const organization = "/organizations/:organization";

  // Commands read the headers of this answer alone, also without a token.
  fastify.get("/ping", { config: { open: true } }, async (_request, reply) =>
    reply.code(204).send(),
  );

  fastify.get("/account/details", async (request, reply) => {
    const { actor } = callerOf(context, request);
    return send(reply, one({ id: actor, type: "users", attributes: { username: actor } }));
  });

  fastify.get("/organizations", async (request, reply) => {
    const { account } = callerOf(context, request);
    return send(reply, page([account], {}, organizationResource));
  });

  fastify.get<InOrganization>(organization, async (request, reply) =>
    send(reply, one(organizationResource(memberOf(context, request).account))),
  );

  fastify.get<InOrganization>(`${organization}/entitlement-set`, async (request, reply) => {
    const { account } = memberOf(context, request);
    const attributes = {
      operations: port.runs !== undefined,
      "state-storage": true,
      "private-module-registry": false,
      teams: false,
      sentinel: false,
      "cost-estimation": false,
      "vcs-integrations": false,
      agents: false,
    };
    return send(reply, one({ id: account, type: "entitlement-sets", attributes }));
  });

  fastify.get<InOrganization>(`${organization}/projects`, async (request, reply) => {
    const caller = memberOf(context, request);
    const { query } = request;
    const wanted = query["filter[names]"];
    const names = typeof wanted === "string" ? new Set(wanted.split(",")) : undefined;
    const all = await port.workspaces.projects(caller);
    return send(
      reply,
      page(
        all.filter((name) => names === undefined || names.has(name)),
        query,
        projectResource,
      ),
    );
  });

  fastify.post<InOrganization>(`${organization}/projects`, ADMINISTERS, async (request, reply) => {
    const caller = memberOf(context, request);
    requireAdmin(caller, "create a project");
    const name = (await documentOf(context, request)).text("name", 64) ?? "";
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
      throw new TfeError(
        "TFE_UNPROCESSABLE",
        'the name of a project has letters, digits, ".", "_" and "-", at most 64',
      );
    }
    const made = await port.workspaces.createProject(caller, name);
    if (made === undefined) {
      throw new TfeError("TFE_UNPROCESSABLE", "Name has already been taken");
    }
    return send(reply, one(projectResource(made)), 201);
  });
}

function organizationResource(account: string): ResourceObject {
  return {
    id: account,
    type: "organizations",
    attributes: { name: account, permissions: { "can-create-workspace": true } },
  };
}

/** A project as clients read it. */
export function projectResource(name: string): ResourceObject {
  return { id: projectId(name), type: "projects", attributes: { name } };
}

/** The id of a project, made of its name. */
export function projectId(name: string): string {
  return `prj-${name}`;
}
