import type { NamedStack } from "@stackwright/core";
import { Workspace } from "@stackwright/proto/stackwright";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { removeWorkspaceNames } from "../../stack-deletion/remove-workspace.ts";
import { finishDeletion } from "../../stack-deletion/stack-deletion.ts";
import { type StoredWorkspace, WorkspaceDirectory } from "../../workspace/workspace-directory.ts";
import { type ApiParts, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { StackView, stackViewOf } from "./stack-view.ts";

const Force = Type.Object(
  { force: Type.Optional(Type.Union([Type.Literal("true"), Type.Literal("false")])) },
  { additionalProperties: false },
);

/** `DELETE /projects/{project}/stacks/{stack}` */
export function deleteStackRoute(fastify: FastifyInstance, parts: ApiParts): void {
  const { principalOf } = parts;

  fastify.delete<{ Params: Static<typeof StackParams>; Querystring: Static<typeof Force> }>(
    "/projects/:project/stacks/:stack",
    {
      schema: routeSchema(
        "Delete a stack without objects, with all that is kept of it; with force also one with objects, which stay in place, unmanaged from then on",
        "DeleteStack",
        { 202: StackView },
        { params: StackParams, querystring: Force },
        {
          409: "it has objects, a lock or a run, is in a plan set that has not ended, or is protected from deletion",
        },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { actor } = principalOf(request);
      const stack = await stackOf(parts, principalOf(request), request.params);
      const { reference, name } = stack;
      const force = request.query.force === "true";
      const audited = parts.audited(request);
      const workspace = await workspaceOf(parts, stack);
      if (!(await removeWorkspaceNames(audited, workspace, { force, actor }))) {
        throw new ServerError("not_found", `there is no stack "${name}"`);
      }
      request.log.warn({ stack: name, project: reference.project, actor }, "a stack was deleted");
      try {
        await finishDeletion(parts, reference);
      } catch (error) {
        // It is deleted: any server of the store removes the rest.
        request.log.warn({ err: error, ...reference }, "the rest of a stack is removed later");
      }
      return reply.code(202).send(stackViewOf(stack));
    },
  );
}

/** A stack with its record as a workspace, which it has or not. */
async function workspaceOf(parts: ApiParts, stack: NamedStack): Promise<StoredWorkspace> {
  const { account, project, stack: id } = stack.reference;
  const known = await new WorkspaceDirectory(parts).get(account, id);
  const record =
    known?.record ?? Workspace.fromPartial({ name: stack.name, project, stackName: stack.name });
  return { stack, record };
}
