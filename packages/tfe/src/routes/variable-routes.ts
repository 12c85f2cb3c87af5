import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import { one, page } from "../json-api/document.ts";
import type { TfeVariable, TfeVariableOwner, VariablePort } from "../port/variable-port.ts";
import {
  type ADMINISTERS,
  callerOf,
  documentOf,
  type RouteContext,
  requireOperator,
  send,
  workspaceOf,
} from "./route-context.ts";
import { newVariableOf, variableChangeOf } from "./variable-request.ts";
import { type OwnerId, setIdOf, variableIdOf, variableResource } from "./variable-resource.ts";

type Query = Readonly<Record<string, unknown>>;

/** Whose variables the routes at a path are. */
interface OwnerAtPath {
  readonly owner: TfeVariableOwner;
  readonly id: OwnerId;
  /** Throws where the caller does not write them. */
  readonly requireWriter: () => void;
}

/** The variables of a workspace; `all-vars` has those of its sets as well. */
export function variableRoutes(
  fastify: FastifyInstance,
  context: RouteContext,
  variables: VariablePort,
): void {
  type ById = { Params: { readonly workspace: string } };
  const at = "/workspaces/:workspace";

  const all = async (
    request: FastifyRequest<ById & { Querystring: Query }>,
    reply: FastifyReply,
  ) => {
    const caller = callerOf(context, request);
    const { id } = await workspaceOf(context, request);
    const found = await variables.effective(caller, id);
    return send(
      reply,
      page(
        found,
        request.query,
        ({ set, ...variable }) =>
          variableResource(set === undefined ? `ws-${id}` : setIdOf(caller.account, set), variable),
        // Commands ask for one page, and evaluate with what is in it.
        Math.max(1, found.length),
      ),
    );
  };
  fastify.get<ById & { Querystring: Query }>(`${at}/all-vars`, all);

  ownedVariableRoutes<ById["Params"]>(fastify, context, variables, {
    path: `${at}/vars`,
    ownerOf: async (request) => {
      const { id } = await workspaceOf(context, request);
      return {
        owner: { workspace: id },
        id: `ws-${id}`,
        requireWriter: () => requireOperator(callerOf(context, request)),
      };
    },
    // Commands before `all-vars` evaluate with what they get here, so that they get what runs have.
    list: async (request, reply) =>
      request.headers["terraform-version"] === undefined ? undefined : all(request, reply),
  });
}

/** The five routes of variables of whom a path names. */
export function ownedVariableRoutes<Params extends object>(
  fastify: FastifyInstance,
  context: RouteContext,
  variables: VariablePort,
  {
    path,
    ownerOf,
    options = {},
    list = async () => undefined,
  }: {
    readonly path: string;
    /** Of the routes that change something. */
    readonly options?: Partial<typeof ADMINISTERS>;
    readonly ownerOf: (request: FastifyRequest<{ Params: Params }>) => Promise<OwnerAtPath>;
    /** Answers a list otherwise. */
    readonly list?: (
      request: FastifyRequest<{ Params: Params; Querystring: Query }>,
      reply: FastifyReply,
    ) => Promise<FastifyReply | undefined>;
  },
): void {
  type Of = { Params: Params; Querystring: Query };
  type One = { Params: Params & { readonly variable: string } };
  const byId = `${path}/:variable`;

  const variableAt = async (
    request: FastifyRequest<One>,
    { owner, id }: OwnerAtPath,
  ): Promise<TfeVariable> => {
    const { variable: wanted } = request.params as One["Params"];
    const all = await variables.list(callerOf(context, request), owner);
    const found = all.find((each) => variableIdOf(id, each) === wanted);
    if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
    return found;
  };

  fastify.get<Of>(path, async (request, reply) => {
    const answered = await list(request, reply);
    if (answered !== undefined) return answered;
    const { owner, id } = await ownerOf(request);
    const all = await variables.list(callerOf(context, request), owner);
    return send(
      reply,
      page(all, request.query, (each) => variableResource(id, each)),
    );
  });

  fastify.post<Of>(path, options, async (request, reply) => {
    const { owner, id, requireWriter } = await ownerOf(request);
    requireWriter();
    const wanted = newVariableOf(await documentOf(context, request));
    const made = await variables.add(callerOf(context, request), owner, wanted);
    if (made === undefined) throw new TfeError("TFE_UNPROCESSABLE", "Key has already been taken");
    return send(reply, one(variableResource(id, made)), 201);
  });

  fastify.get<One>(byId, async (request, reply) => {
    const at = await ownerOf(request);
    return send(reply, one(variableResource(at.id, await variableAt(request, at))));
  });

  fastify.patch<One>(byId, options, async (request, reply) => {
    const at = await ownerOf(request);
    at.requireWriter();
    const variable = await variableAt(request, at);
    const change = variableChangeOf(await documentOf(context, request), variable);
    const caller = callerOf(context, request);
    const changed = await variables.change(caller, at.owner, variable, change);
    return send(reply, one(variableResource(at.id, changed)));
  });

  fastify.delete<One>(byId, options, async (request, reply) => {
    const at = await ownerOf(request);
    at.requireWriter();
    await variables.remove(callerOf(context, request), at.owner, await variableAt(request, at));
    return reply.code(204).send();
  });
}
