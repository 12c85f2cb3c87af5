import type { RoleBinding } from "@stackwright/proto/stackwright";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { BindingPlace } from "../../access/access-places.ts";
import type { UserRole } from "../../access/effective-rights.ts";
import { giveRole, takeRole } from "../../access/give-role.ts";
import { listBindings } from "../../access/remove-bindings.ts";
import {
  type ApiParts,
  checkProjectName,
  ProjectName,
  ProjectParams,
  routeSchema,
} from "../api-parts.ts";
import { NewRole, RoleView, roleViewOf, SubjectKindSchema, SubjectName } from "./access-view.ts";

const subject = { kind: SubjectKindSchema, subject: SubjectName };
const AccountRoleParams = Type.Object(subject);
const ProjectRoleParams = Type.Object({ project: ProjectName, ...subject });

/** `/roles` of the account and `/projects/{project}/roles`: a user or a team has one role in each place, which includes the lower ones. */
export function roleRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, access, principalOf } = parts;
  const ofAccount = { access: "account-admin" } as const;
  const ofProject = { access: "admin" } as const;

  const list = async (request: FastifyRequest, project?: string) => {
    const { account } = principalOf(request);
    const isChosen = (one: RoleBinding) => project === undefined || one.project === project;
    const roles = await listBindings({ storage, logger: request.log }, account, isChosen);
    return { roles: roles.map(roleViewOf) };
  };
  const give = async (request: FastifyRequest, at: BindingPlace, role: UserRole) => {
    const { actor } = principalOf(request);
    const given = await giveRole(parts.audited(request), at, { role, actor });
    access.forget(at.account);
    return roleViewOf(given);
  };
  const take = async (request: FastifyRequest, at: BindingPlace) => {
    await takeRole(parts.audited(request), at);
    access.forget(at.account);
  };

  fastify.get(
    "/roles",
    {
      schema: routeSchema("List the roles of the account and of its projects", "ListRoles", {
        200: Type.Object({ roles: Type.Array(RoleView) }),
      }),
      config: ofAccount,
    },
    async (request) => list(request),
  );

  fastify.put<{ Params: Static<typeof AccountRoleParams>; Body: Static<typeof NewRole> }>(
    "/roles/:kind/:subject",
    {
      schema: routeSchema(
        "Give a user or a team a role in the whole account, in place of the one it has there",
        "GiveRole",
        { 200: RoleView },
        { params: AccountRoleParams, body: NewRole },
        { 409: "no administrator would be left", 422: "the account has too many roles" },
      ),
      config: ofAccount,
    },
    async (request) => {
      const principal = principalOf(request);
      return give(request, { ...request.params, account: principal.account }, request.body.role);
    },
  );

  fastify.delete<{ Params: Static<typeof AccountRoleParams> }>(
    "/roles/:kind/:subject",
    {
      schema: routeSchema(
        "Take the role in the account away",
        "TakeRole",
        { 204: Type.Null() },
        { params: AccountRoleParams },
        { 409: "no administrator would be left" },
      ),
      config: ofAccount,
    },
    async (request, reply) => {
      await take(request, { ...request.params, account: principalOf(request).account });
      return reply.code(204).send();
    },
  );

  fastify.get<{ Params: Static<typeof ProjectParams> }>(
    "/projects/:project/roles",
    {
      schema: routeSchema(
        "List the roles that are given in a project",
        "ListProjectRoles",
        { 200: Type.Object({ roles: Type.Array(RoleView) }) },
        { params: ProjectParams },
      ),
      config: ofProject,
    },
    async (request) => list(request, request.params.project),
  );

  fastify.put<{ Params: Static<typeof ProjectRoleParams>; Body: Static<typeof NewRole> }>(
    "/projects/:project/roles/:kind/:subject",
    {
      schema: routeSchema(
        "Give a user or a team a role in a project, in place of the one it has there",
        "GiveProjectRole",
        { 200: RoleView },
        { params: ProjectRoleParams, body: NewRole },
        {
          409: "the project is being deleted",
          422: "a role of the account alone, or too many roles",
        },
      ),
      config: ofProject,
    },
    async (request) => {
      const principal = principalOf(request);
      checkProjectName(request.params.project);
      return give(request, { ...request.params, account: principal.account }, request.body.role);
    },
  );

  fastify.delete<{ Params: Static<typeof ProjectRoleParams> }>(
    "/projects/:project/roles/:kind/:subject",
    {
      schema: routeSchema(
        "Take the role in a project away",
        "TakeProjectRole",
        { 204: Type.Null() },
        { params: ProjectRoleParams },
      ),
      config: ofProject,
    },
    async (request, reply) => {
      await take(request, { ...request.params, account: principalOf(request).account });
      return reply.code(204).send();
    },
  );
}
