import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import { type Document, one, page } from "../json-api/document.ts";
import type { RequestDocument } from "../json-api/request-document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type {
  ExecutionMode,
  TfeWorkspace,
  WorkspaceChange,
  WorkspaceLock,
  WorkspaceTag,
} from "../port/workspace-port.ts";
import { rendersStructured } from "./renders-structured.ts";
import {
  ADMINISTERS,
  callerOf,
  documentOf,
  memberOf,
  type RouteContext,
  requireAdmin,
  requireOperator,
  send,
  workspaceOf,
} from "./route-context.ts";
import { workspaceFilter } from "./workspace-filter.ts";
import { workspaceResource } from "./workspace-resource.ts";

type Query = Readonly<Record<string, unknown>>;
type InOrganization = { Params: { readonly organization: string }; Querystring: Query };
type ByName = { Params: { readonly organization: string; readonly name: string } };
type ById = { Params: { readonly workspace: string } };

const NAME = /^[A-Za-z0-9_-]{1,90}$/;
const TAG = /^[A-Za-z0-9_.:=+@ -]{1,255}$/;
const MAX_TAGS = 100;
/** What is not offered, and how it is set. */
const REFUSED = ["vcs-repo", "agent-pool-id", "migration-environment"] as const;

/** Workspaces: by name, by tags, created on demand; their locks and tags. */
export function workspaceRoutes(fastify: FastifyInstance, context: RouteContext): void {
  const { workspaces } = context.port;
  const all = "/organizations/:organization/workspaces";
  const byName = `${all}/:name`;
  const byId = "/workspaces/:workspace";

  const named = async (request: FastifyRequest<ByName>): Promise<TfeWorkspace> => {
    const found = await workspaces.find(memberOf(context, request), request.params.name);
    if (found === undefined) throw new TfeError("TFE_NOT_FOUND");
    return found;
  };
  const resourceOf = (request: FastifyRequest, caller: TfeCaller, workspace: TfeWorkspace) => {
    const structured = rendersStructured(request) && (workspace.structuredOutput ?? false);
    return workspaceResource(caller, workspace, { structured });
  };
  const show = (reply: FastifyReply, caller: TfeCaller, workspace: TfeWorkspace, status = 200) =>
    send(reply, one(resourceOf(reply.request, caller, workspace)), status);

  fastify.get<InOrganization>(all, async (request, reply) => {
    const caller = memberOf(context, request);
    const { query } = request;
    const found = (await workspaces.list(caller)).filter(workspaceFilter(query));
    if (query["sort"] === "-name") found.reverse();
    return send(
      reply,
      page(found, query, (workspace) => resourceOf(request, caller, workspace)),
    );
  });

  fastify.post<InOrganization>(all, ADMINISTERS, async (request, reply) => {
    const caller = memberOf(context, request);
    requireAdmin(caller, "create a workspace");
    const document = await documentOf(context, request);
    const name = document.text("name") ?? "";
    if (!NAME.test(name)) {
      throw new TfeError(
        "TFE_UNPROCESSABLE",
        'the name of a workspace has letters, digits, "-" and "_", at most 90',
      );
    }
    const project = await projectOf(caller, document.relation("project"));
    const change = changeOf(document);
    const made = await workspaces.create(caller, { ...change, name, project });
    if (made === undefined) throw new TfeError("TFE_UNPROCESSABLE", "Name has already been taken");
    return show(reply, caller, made, 201);
  });

  /** The name of a project by its id; commands create a project before they use it. */
  const projectOf = async (caller: TfeCaller, id: string | undefined): Promise<string> => {
    if (id === undefined || id === "prj-default") return "default";
    const found = (await workspaces.projects(caller)).find((name) => `prj-${name}` === id);
    if (found === undefined) throw new TfeError("TFE_UNPROCESSABLE", "there is no such project");
    return found;
  };

  fastify.get<ByName>(byName, async (request, reply) =>
    show(reply, callerOf(context, request), await named(request)),
  );
  fastify.get<ById>(byId, async (request, reply) =>
    show(reply, callerOf(context, request), await workspaceOf(context, request)),
  );

  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    workspace: TfeWorkspace,
  ): Promise<FastifyReply> => {
    const caller = callerOf(context, request);
    requireOperator(caller);
    const document = await documentOf(context, request);
    const name = document.text("name");
    if (name !== undefined && name !== workspace.name) {
      throw new TfeError("TFE_UNPROCESSABLE", "not supported by this server: another name");
    }
    return show(reply, caller, await workspaces.change(caller, workspace.id, changeOf(document)));
  };
  // An administrator changes by it which tool has the state.
  fastify.patch<ByName>(byName, ADMINISTERS, async (request, reply) =>
    change(request, reply, await named(request)),
  );
  fastify.patch<ById>(byId, ADMINISTERS, async (request, reply) =>
    change(request, reply, await workspaceOf(context, request)),
  );

  const remove = async (
    request: FastifyRequest,
    reply: FastifyReply,
    workspace: TfeWorkspace,
    force: boolean,
  ): Promise<FastifyReply> => {
    const caller = callerOf(context, request);
    requireAdmin(caller, "delete a workspace");
    await workspaces.remove(caller, workspace.id, { force });
    return reply.code(204).send();
  };
  const safely = "/actions/safe-delete";
  fastify.delete<ByName>(byName, ADMINISTERS, async (request, reply) =>
    remove(request, reply, await named(request), true),
  );
  fastify.delete<ById>(byId, ADMINISTERS, async (request, reply) =>
    remove(request, reply, await workspaceOf(context, request), true),
  );
  fastify.post<ByName>(`${byName}${safely}`, ADMINISTERS, async (request, reply) =>
    remove(request, reply, await named(request), false),
  );
  fastify.post<ById>(`${byId}${safely}`, ADMINISTERS, async (request, reply) =>
    remove(request, reply, await workspaceOf(context, request), false),
  );

  fastify.post<ById>(`${byId}/actions/lock`, async (request, reply) => {
    const caller = callerOf(context, request);
    requireOperator(caller);
    const { id } = await workspaceOf(context, request);
    const reason = (await documentOf(context, request)).text("reason") ?? "";
    const locked = await workspaces.lock(caller, id, reason);
    if (locked === undefined) throw new TfeError("TFE_CONFLICT", "workspace already locked");
    return show(reply, caller, locked);
  });
  for (const force of [false, true]) {
    const action = force ? "force-unlock" : "unlock";
    fastify.post<ById>(`${byId}/actions/${action}`, async (request, reply) => {
      const caller = callerOf(context, request);
      requireOperator(caller);
      const { id } = await workspaceOf(context, request);
      const outcome = await workspaces.unlock(caller, id, { force });
      if (outcome === "unlocked") {
        throw new TfeError("TFE_CONFLICT", "workspace already unlocked");
      }
      if (outcome !== "done") throw new TfeError("TFE_CONFLICT", holderText(outcome));
      return show(reply, caller, await workspaceOf(context, request));
    });
  }

  fastify.get<ById & { Querystring: Query }>(`${byId}/tag-bindings`, async (request, reply) =>
    send(reply, bindings((await workspaceOf(context, request)).tags)),
  );
  fastify.patch<ById>(`${byId}/tag-bindings`, async (request, reply) => {
    const caller = callerOf(context, request);
    requireOperator(caller);
    const { id } = await workspaceOf(context, request);
    const tags = tagsOf((await documentOf(context, request)).items);
    return send(reply, bindings((await workspaces.change(caller, id, { tags })).tags));
  });
  fastify.post<ById>(`${byId}/relationships/tags`, async (request, reply) => {
    const caller = callerOf(context, request);
    requireOperator(caller);
    const { id } = await workspaceOf(context, request);
    const { items } = await documentOf(context, request);
    await workspaces.change(caller, id, { tags: namesAsTags(items) });
    return reply.code(204).send();
  });
}

/** Commands recognise who has the lock by these words. */
function holderText({ by, actor, reason }: WorkspaceLock): string {
  return `workspace is locked by ${by === "run" ? "Run" : "User"} ${actor}: ${reason}`;
}

function changeOf(document: RequestDocument): WorkspaceChange {
  for (const name of REFUSED) {
    if (document.text(name) !== undefined) {
      throw new TfeError("TFE_UNPROCESSABLE", `not supported by this server: ${name}`);
    }
  }
  const tags = [
    ...namesAsTags(document.relations("tags")),
    ...tagsOf(document.relations("tag-bindings")),
  ];
  const terraformVersion = document.text("terraform-version", 64);
  return {
    description: document.text("description"),
    executionMode: executionModeOf(document),
    // Commands send their own version when they create a workspace: any version stays allowed.
    terraformVersion: terraformVersion === "latest" ? "" : undefined,
    workingDirectory: workingDirectoryOf(document),
    autoApply: document.flag("auto-apply"),
    ...(tags.length > 0 && { tags }),
  };
}

function executionModeOf(document: RequestDocument): ExecutionMode | undefined {
  const mode = document.text("execution-mode");
  if (mode === undefined || mode === "remote" || mode === "local") return mode;
  throw new TfeError("TFE_UNPROCESSABLE", `not supported by this server: execution-mode ${mode}`);
}

/** A folder below the upload. */
function workingDirectoryOf(document: RequestDocument): string | undefined {
  const directory = document.text("working-directory", 512);
  if (directory === undefined) return undefined;
  const parts = directory.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..") || directory.includes("\\") || /\p{Cc}/u.test(directory)) {
    throw new TfeError("TFE_UNPROCESSABLE", '"working-directory" has to be below the upload');
  }
  return parts.join("/");
}

function namesAsTags(items: readonly RequestDocument[]): readonly WorkspaceTag[] {
  return checked(items.map((item) => ({ key: item.text("name") ?? "", value: "" })));
}

function tagsOf(items: readonly RequestDocument[]): readonly WorkspaceTag[] {
  return checked(
    items.map((item) => ({ key: item.text("key") ?? "", value: item.text("value") ?? "" })),
  );
}

function checked(tags: readonly WorkspaceTag[]): readonly WorkspaceTag[] {
  const wrong = tags.find(({ key, value }) => !TAG.test(key) || (value !== "" && !TAG.test(value)));
  if (wrong !== undefined || tags.length > MAX_TAGS) {
    throw new TfeError(
      "TFE_UNPROCESSABLE",
      `a workspace has at most ${MAX_TAGS} tags, of letters, digits and "_.:=+@-", at most 255 each`,
    );
  }
  return tags;
}

function bindings(tags: readonly WorkspaceTag[]): Document {
  const data = tags.map(({ key, value }) => ({
    id: `tb-${Buffer.from(key).toString("base64url")}`,
    type: "tag-bindings",
    attributes: { key, value },
  }));
  return page(data, { "page[size]": String(MAX_TAGS) }, (binding) => binding);
}
