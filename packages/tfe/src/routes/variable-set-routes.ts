import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import { type Document, one, page, type ResourceObject } from "../json-api/document.ts";
import type { RequestDocument } from "../json-api/request-document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { TfeSetName, VariablePort } from "../port/variable-port.ts";
import type { TfeVariableSet, VariableSetPort } from "../port/variable-set-port.ts";
import { projectId, projectResource } from "./organization-routes.ts";
import {
  ADMINISTERS,
  callerOf,
  documentOf,
  memberOf,
  type RouteContext,
  requireAdmin,
  send,
  workspaceKey,
  workspaceOf,
} from "./route-context.ts";
import { setIdOf, variableResource } from "./variable-resource.ts";
import { ownedVariableRoutes } from "./variable-routes.ts";
import { type PlaceFinder, placesOf, setChangeOf } from "./variable-set-request.ts";
import { variableSetResource } from "./variable-set-resource.ts";
import { workspaceResource } from "./workspace-resource.ts";

type Query = Readonly<Record<string, unknown>>;
type InOrganization = { Params: { readonly organization: string }; Querystring: Query };
type OfWorkspace = { Params: { readonly workspace: string }; Querystring: Query };
type OfProject = { Params: { readonly project: string }; Querystring: Query };
type ById = { Params: { readonly set: string }; Querystring: Query };

/** Variable sets: of the organization and of projects, with their variables and what they are attached to. */
export function variableSetRoutes(
  fastify: FastifyInstance,
  context: RouteContext,
  sets: VariableSetPort,
  variables: VariablePort,
): void {
  const { workspaces } = context.port;
  const at = "/varsets/:set";

  const nameAt = async (
    request: FastifyRequest<{ Params: ById["Params"] }>,
  ): Promise<TfeSetName> => {
    const caller = callerOf(context, request);
    const all = await sets.names(caller);
    const found = all.find((name) => setIdOf(caller.account, name) === request.params.set);
    if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
    return found;
  };
  const projectAt = async (caller: TfeCaller, id: string): Promise<string> => {
    const found = (await workspaces.projects(caller)).find((name) => projectId(name) === id);
    if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
    return found;
  };
  const finderOf = (request: FastifyRequest): PlaceFinder => ({
    // The port finds them, and refuses those that the caller does not see.
    workspaces: (ids) => ids.map(workspaceKey),
    projects: async (ids) => {
      if (ids.length === 0) return [];
      const all = await workspaces.projects(callerOf(context, request));
      return ids.map((id) => {
        const name = all.find((each) => projectId(each) === id);
        if (name === undefined) throw new TfeError("TFE_NOT_FOUND");
        return name;
      });
    },
  });

  /** What a query wants to have with sets, of what they are related to. */
  const includedWith = async (
    caller: TfeCaller,
    shown: readonly TfeVariableSet[],
    { include }: Query,
  ): Promise<readonly ResourceObject[]> => {
    const wanted = new Set(typeof include === "string" ? include.split(",") : []);
    const ids = new Set(shown.flatMap((set) => set.workspaces));
    const found =
      wanted.has("workspaces") && ids.size > 0
        ? (await workspaces.list(caller)).filter(({ id }) => ids.has(id))
        : [];
    const projects = wanted.has("projects") ? shown.flatMap((set) => set.projects) : [];
    const variablesOf = (set: TfeVariableSet) =>
      set.variables.map((each) => variableResource(setIdOf(caller.account, set), each));
    return [
      ...found.map((each) => workspaceResource(caller, each, { structured: false })),
      ...[...new Set(projects)].map(projectResource),
      ...(wanted.has("vars") ? shown.flatMap(variablesOf) : []),
    ];
  };
  const show = async (
    request: FastifyRequest<{ Querystring: Query }>,
    reply: FastifyReply,
    set: TfeVariableSet,
    status = 200,
  ): Promise<FastifyReply> => {
    const caller = callerOf(context, request);
    const included = await includedWith(caller, [set], request.query);
    return send(reply, one(variableSetResource(caller.account, set), included), status);
  };
  /** A page of sets, of which no others are read. */
  const showMany = async (
    request: FastifyRequest<{ Querystring: Query }>,
    reply: FastifyReply,
    names: readonly TfeSetName[],
  ): Promise<FastifyReply> => {
    const { query } = request;
    const caller = callerOf(context, request);
    const wanted: TfeSetName[] = [];
    const { meta }: Document = page(names, query, (name) => {
      wanted.push(name);
      return { id: name.name, type: "varsets", attributes: {} };
    });
    const shown = await sets.read(caller, wanted);
    const included = await includedWith(caller, shown, query);
    const data = shown.map((set) => variableSetResource(caller.account, set));
    return send(reply, {
      data,
      ...(included.length > 0 && { included }),
      ...(meta !== undefined && { meta }),
    });
  };
  const requireWriter = (caller: TfeCaller, { project }: Pick<TfeSetName, "project">): void => {
    if (project !== undefined && caller.adminProjects?.includes(project) === true) return;
    requireAdmin(caller, "change variable sets");
    if (project !== undefined || caller.projects.length === 0) return;
    throw new TfeError(
      "TFE_FORBIDDEN",
      `${caller.actor} is not allowed to change variable sets of the organization; it needs the role registry:admin in all projects`,
    );
  };

  fastify.get<InOrganization>("/organizations/:organization/varsets", async (request, reply) => {
    const caller = memberOf(context, request);
    const { q } = request.query;
    const part = typeof q === "string" ? q.toLowerCase() : "";
    const all = await sets.names(caller);
    return showMany(
      request,
      reply,
      all.filter(({ name }) => name.toLowerCase().includes(part)),
    );
  });
  fastify.get<OfWorkspace>("/workspaces/:workspace/varsets", async (request, reply) => {
    const { id } = await workspaceOf(context, request);
    return showMany(request, reply, await sets.namesFor(callerOf(context, request), id));
  });
  fastify.get<OfProject>("/projects/:project/varsets", async (request, reply) => {
    const caller = callerOf(context, request);
    const project = await projectAt(caller, request.params.project);
    const names = await sets.names(caller);
    const possible = names.filter(({ project: owner }) => owner === undefined || owner === project);
    const all = await sets.read(caller, possible);
    const own = all.filter((set) => set.isGlobal || set.projects.includes(project));
    return showMany(request, reply, own);
  });

  fastify.post<InOrganization>(
    "/organizations/:organization/varsets",
    ADMINISTERS,
    async (request, reply) => {
      const caller = memberOf(context, request);
      if (caller.adminProjects === undefined) requireAdmin(caller, "create a variable set");
      const document = await documentOf(context, request);
      const project = await parentOf(caller, document);
      requireWriter(caller, { project });
      const name = document.text("name");
      if (name === undefined) throw new TfeError("TFE_UNPROCESSABLE", '"name" is missing');
      const change = await setChangeOf(document, finderOf(request));
      const made = await sets.create(caller, { ...change, name, project });
      if (made === undefined)
        throw new TfeError("TFE_UNPROCESSABLE", "Name has already been taken");
      return show(request, reply, made, 201);
    },
  );
  const parentOf = async (
    caller: TfeCaller,
    document: RequestDocument,
  ): Promise<string | undefined> => {
    const id = document.oneRelated("parent");
    return id === undefined || id === caller.account ? undefined : projectAt(caller, id);
  };

  fastify.get<ById>(at, async (request, reply) => {
    const [set] = await sets.read(callerOf(context, request), [await nameAt(request)]);
    if (set === undefined) throw new TfeError("TFE_NOT_FOUND");
    return show(request, reply, set);
  });
  fastify.patch<ById>(at, ADMINISTERS, async (request, reply) => {
    const caller = callerOf(context, request);
    const set = await nameAt(request);
    requireWriter(caller, set);
    const document = await documentOf(context, request);
    const name = document.text("name");
    if (name !== undefined && name !== set.name) {
      throw new TfeError("TFE_UNPROCESSABLE", 'not supported by this server: another "name"');
    }
    const parent = document.oneRelated("parent");
    if (parent !== undefined && (await parentOf(caller, document)) !== set.project) {
      throw new TfeError("TFE_UNPROCESSABLE", 'not supported by this server: another "parent"');
    }
    const change = await setChangeOf(document, finderOf(request));
    return show(request, reply, await sets.change(caller, set, change));
  });
  fastify.delete<ById>(at, ADMINISTERS, async (request, reply) => {
    const caller = callerOf(context, request);
    const set = await nameAt(request);
    requireWriter(caller, set);
    await sets.remove(caller, set);
    return reply.code(204).send();
  });

  for (const kind of ["workspaces", "projects"] as const) {
    const path = `${at}/relationships/${kind}`;
    fastify.post<ById>(path, ADMINISTERS, async (request, reply) => {
      const caller = callerOf(context, request);
      const set = await nameAt(request);
      requireWriter(caller, set);
      const document = await documentOf(context, request);
      await sets.attach(caller, set, await placesOf(document, kind, finderOf(request)));
      return reply.code(204).send();
    });
    fastify.delete<ById>(path, ADMINISTERS, async (request, reply) => {
      const caller = callerOf(context, request);
      const set = await nameAt(request);
      requireWriter(caller, set);
      const document = await documentOf(context, request);
      await sets.detach(caller, set, await placesOf(document, kind, finderOf(request)));
      return reply.code(204).send();
    });
  }

  ownedVariableRoutes<ById["Params"]>(fastify, context, variables, {
    path: `${at}/relationships/vars`,
    options: ADMINISTERS,
    ownerOf: async (request) => {
      const caller = callerOf(context, request);
      const set = await nameAt(request);
      return {
        owner: { set },
        id: setIdOf(caller.account, set),
        requireWriter: () => requireWriter(caller, set),
      };
    },
  });
}
