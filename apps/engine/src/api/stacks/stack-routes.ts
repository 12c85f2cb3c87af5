import { StackDirectory } from "@stackwright/core";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { addStack } from "../../queue/add-stack.ts";
import { transact } from "../../queue/transaction.ts";
import {
  type ApiParts,
  checkProjectName,
  ProjectParams,
  routeSchema,
  StackNameSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { nextPage, PageQuery, pageOf } from "../list-page.ts";
import { FreezeView, readFreeze } from "./freeze-view.ts";
import { LockView, readLock } from "./lock-view.ts";
import { STACK_FACTS, StackView, stackViewOf } from "./stack-view.ts";
import { visibleStacks } from "./visible-stacks.ts";

/** With what holds its runs back. */
const ShownStack = Type.Object(
  { ...STACK_FACTS, lock: Type.Optional(LockView), freeze: Type.Optional(FreezeView) },
  { title: "ShownStack" },
);
const NewStack = Type.Object(
  { name: StackNameSchema },
  { additionalProperties: false, title: "NewStack" },
);

/** `/projects/{project}/stacks` */
export function stackRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const stacks = new StackDirectory({ storage });
  fastify.get<{ Params: Static<typeof ProjectParams>; Querystring: Static<typeof PageQuery> }>(
    "/projects/:project/stacks",
    {
      schema: routeSchema(
        "List the stacks of a project by name",
        "ListStacks",
        { 200: Type.Object({ stacks: Type.Array(StackView), next: Type.Optional(Type.String()) }) },
        { params: ProjectParams, querystring: PageQuery },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { project } = request.params;
      checkProjectName(project);
      const given = pageOf(request.query);
      const page = await visibleStacks(stacks, principal, project, given);
      const found = page.stacks.map(stackViewOf);
      if (page.next === undefined) return { stacks: found };
      return { stacks: found, next: nextPage(request, reply, given.limit, page.next) };
    },
  );
  fastify.post<{ Params: Static<typeof ProjectParams>; Body: Static<typeof NewStack> }>(
    "/projects/:project/stacks",
    {
      schema: routeSchema(
        "Create a stack",
        "CreateStack",
        { 201: StackView },
        { params: ProjectParams, body: NewStack },
        { 409: "the name is in use, or the project is being deleted" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { project } = request.params;
      const { name } = request.body;
      checkProjectName(project);
      const made = await transact(parts.audited(request), async (tx) =>
        addStack(tx, { account, project }, name),
      );
      if (made === undefined) {
        throw new ServerError("name_taken", `the project has a stack "${name}"`);
      }
      reply.header("location", `/api/v1/projects/${project}/stacks/${name}`);
      return reply.code(201).send(stackViewOf(made));
    },
  );
  fastify.get<{ Params: Static<typeof StackParams> }>(
    "/projects/:project/stacks/:stack",
    {
      schema: routeSchema(
        "Show a stack, with its lock and its freeze",
        "ShowStack",
        { 200: ShownStack },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const stack = await stackOf(parts, principalOf(request), request.params);
      const [lock, freeze] = await Promise.all([
        readLock(parts, stack.reference),
        readFreeze(parts, stack.reference),
      ]);
      return {
        ...stackViewOf(stack),
        ...(lock !== undefined && { lock }),
        ...(freeze !== undefined && { freeze }),
      };
    },
  );
}
