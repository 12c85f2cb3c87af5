import type { Principal } from "@stackwright/registry";
import { listResourceHeads, readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { projectHasStacks } from "../../access/known-projects.ts";
import { defaultProject, projectPlace } from "../../domain/project-settings.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { STACK_KIND } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { deleteProject } from "../../project-deletion/delete-project.ts";
import { idOf, transact } from "../../queue/transaction.ts";
import {
  type ApiParts,
  checkProjectName,
  etagOf,
  MatchHeader,
  ProjectParams,
  requireMatch,
  routeSchema,
} from "../api-parts.ts";
import { seesProject } from "../authorize.ts";
import { readFreeze } from "../stacks/freeze-view.ts";
import { requireAllowedPools } from "./allowed-pools.ts";
import { requireKeysFor } from "./change-keys.ts";
import {
  NewProject,
  ProjectSettings,
  ProjectView,
  projectViewOf,
  ShownProject,
  settingsOf,
} from "./project-view.ts";

type InProject = { Params: Static<typeof ProjectParams> };
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };

/** `/projects`: those that have settings or stacks. */
export function projectRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, access, principalOf } = parts;
  const hasStacks = async ({ account }: Principal, project: string): Promise<boolean> =>
    projectHasStacks(storage, { account, project });

  fastify.get(
    "/projects",
    {
      schema: routeSchema("List projects", "ListProjects", {
        200: Type.Object({
          projects: Type.Array(Type.Object({ name: Type.String() }, { title: "ProjectName" })),
        }),
      }),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request) => {
      const principal = principalOf(request);
      const { account } = principal;
      const everywhere = { partition: account, peerName: "*", namespace: "*" };
      const { tenancy } = projectPlace({ account, project: "" });
      const { type: settings } = SERVER_KINDS.project;
      const names = new Set<string>();
      for await (const { id } of listResourceHeads(
        storage,
        "strong",
        STACK_KIND.type,
        everywhere,
        "",
      )) {
        names.add(id.tenancy.namespace);
      }
      for await (const { id } of listResourceHeads(storage, "strong", settings, tenancy, "")) {
        names.add(id.name);
      }
      const visible = [...names].filter((name) => seesProject(principal, name));
      return { projects: visible.toSorted().map((name) => ({ name })) };
    },
  );

  fastify.post<{ Body: Static<typeof NewProject> }>(
    "/projects",
    {
      schema: routeSchema(
        "Create a project with its settings",
        "CreateProject",
        { 201: ProjectView },
        { body: NewProject },
        {
          409: "the name is in use, the project of this name is being deleted, or the keys of stacks are others than the settings say",
        },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { account, projects: own, actor } = principalOf(request);
      const { name, ...settings } = request.body;
      checkProjectName(name);
      if (own.length > 0 && !own.includes(name)) {
        throw new ServerError("forbidden", `${actor} is limited to the projects ${own.join(", ")}`);
      }
      await requireKeysFor(settings.keys ?? "either", { account, project: name }, parts);
      const made = await transact(parts.audited(request), async (tx) => {
        const place = projectPlace({ account, project: name });
        if ((await tx.find(SERVER_KINDS.project, place)) !== undefined) {
          throw new ServerError("name_taken", `there is a project "${name}"`);
        }
        const at = BigInt(tx.nowMs);
        const times = { createdAtMs: at, updatedAtMs: at };
        const change = settingsOf(settings);
        requireAllowedPools(defaultProject(name), change, parts.administersAccount(request));
        const project = { ...defaultProject(name), ...change, ...times };
        tx.create(SERVER_KINDS.project, place, project);
        return { project, generation: tx.generation };
      });
      reply.headers({ location: `/api/v1/projects/${name}`, etag: etagOf(made.generation) });
      return reply.code(201).send(projectViewOf(made.project));
    },
  );

  fastify.get<InProject>(
    "/projects/:project",
    {
      schema: routeSchema(
        "Show a project with its settings and its freeze",
        "ShowProject",
        { 200: ShownProject },
        { params: ProjectParams },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { project } = request.params;
      checkProjectName(project);
      const place = projectPlace({ ...principal, project });
      const found = await readStored(storage, "strong", idOf(SERVER_KINDS.project, place));
      if (found === undefined && !(await hasStacks(principal, project))) {
        throw new ServerError("not_found", `there is no project "${project}"`);
      }
      const freeze = await readFreeze(parts, { account: principal.account, project });
      const shown = found ? decodeRecord(SERVER_KINDS.project, found) : defaultProject(project);
      if (found !== undefined) reply.header("etag", etagOf(found.generation));
      return { ...projectViewOf(shown), ...(freeze !== undefined && { freeze }) };
    },
  );

  fastify.patch<InProject & { Body: Static<typeof ProjectSettings> }>(
    "/projects/:project",
    {
      schema: routeSchema(
        "Change the settings of a project; plans that wait for approval keep their rule. A pool is added by an administrator of the account",
        "ChangeProject",
        { 200: ProjectView },
        { params: ProjectParams, body: ProjectSettings, headers: MatchHeader },
        {
          ...CHANGED,
          409: "the project is being deleted, or the keys of stacks are others than the settings say",
        },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { project: name } = request.params;
      checkProjectName(name);
      const isKnown = await hasStacks(principal, name);
      const { account } = principal;
      await requireKeysFor(request.body.keys ?? "either", { account, project: name }, parts);
      const { project, generation } = await transact(parts.audited(request), async (tx) => {
        const place = projectPlace({ ...principal, project: name });
        const change = { ...settingsOf(request.body), updatedAtMs: BigInt(tx.nowMs) };
        const row = await tx.find(SERVER_KINDS.project, place);
        if (row === undefined) {
          if (!isKnown) throw new ServerError("not_found", `there is no project "${name}"`);
          // It has stacks, and had no settings until now: it exists, and has no entity tag.
          if ((request.headers["if-match"] ?? "*") !== "*") throw new ServerError("changed");
          requireAllowedPools(defaultProject(name), change, parts.administersAccount(request));
          const first = { ...defaultProject(name), ...change, createdAtMs: BigInt(tx.nowMs) };
          tx.create(SERVER_KINDS.project, place, first);
          return { project: first, generation: tx.generation };
        }
        requireMatch(request, row.resource.generation);
        requireAllowedPools(row.message, change, parts.administersAccount(request));
        tx.update(row, change);
        return { project: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return projectViewOf(project);
    },
  );

  fastify.delete<InProject>(
    "/projects/:project",
    {
      schema: routeSchema(
        "Delete a project without stacks, with all that belongs to it: its settings and roles, variable sets, connections, destinations, hooks, freeze and templates",
        "DeleteProject",
        { 204: Type.Null() },
        { params: ProjectParams, headers: MatchHeader },
        {
          ...CHANGED,
          409: "the project has stacks, one is made at the same time, or its settings are damaged",
        },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { account } = principal;
      const { project } = request.params;
      checkProjectName(project);
      if (await hasStacks(principal, project)) throw new ServerError("not_empty");
      const audited = { ...parts.audited(request), logger: request.log };
      await deleteProject(audited, { account, project }, (generation) =>
        requireMatch(request, generation),
      );
      access.forget(account);
      return reply.code(204).send();
    },
  );
}
