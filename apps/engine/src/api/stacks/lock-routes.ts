import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { lockStack, unlockStack } from "../../queue/stack-lock.ts";
import { type ApiParts, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { requireApiRole } from "../api-roles.ts";
import { LockView, lockViewOf, readLock } from "./lock-view.ts";

const NewLock = Type.Object(
  {
    reason: Type.String({ minLength: 1, maxLength: 1024 }),
    expires_in_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_536_000 })),
  },
  { additionalProperties: false, title: "NewStackLock" },
);
const Force = Type.Object(
  { force: Type.Optional(Type.Union([Type.Literal("true"), Type.Literal("false")])) },
  { additionalProperties: false },
);
const LOCK = "/projects/:project/stacks/:stack/lock";
type InStack = { Params: Static<typeof StackParams> };

/** `/projects/{project}/stacks/{stack}/lock` */
export function lockRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { principalOf } = parts;

  fastify.get<InStack>(
    LOCK,
    {
      schema: routeSchema(
        "Show the lock of a stack",
        "ShowLock",
        { 200: LockView },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const found = await readLock(parts, reference);
      if (found === undefined) throw new ServerError("not_found", "the stack is not locked");
      return found;
    },
  );

  fastify.put<InStack & { Body: Static<typeof NewLock> }>(
    LOCK,
    {
      schema: routeSchema(
        "Lock a stack: its runs wait, but for those that only plan",
        "LockStack",
        { 200: LockView, 201: LockView },
        { params: StackParams, body: NewLock },
        { 409: "another credential has locked it" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { reference } = await stackOf(parts, principal, request.params);
      const { reason, expires_in_seconds: seconds } = request.body;
      const { lock, isNew } = await lockStack(parts.audited(request), reference, {
        actor: principal.actor,
        reason,
        forMs: seconds === undefined ? undefined : seconds * 1_000,
      });
      return reply.code(isNew ? 201 : 200).send(lockViewOf(lock));
    },
  );

  fastify.delete<InStack & { Querystring: Static<typeof Force> }>(
    LOCK,
    {
      schema: routeSchema(
        "Unlock a stack; with force also that of another credential, which needs the role admin",
        "UnlockStack",
        { 204: Type.Null() },
        { params: StackParams, querystring: Force },
        { 409: "another credential has locked it" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { reference } = await stackOf(parts, principal, request.params);
      const force = request.query.force === "true";
      if (force) requireApiRole(principal, "admin");
      await unlockStack(parts.audited(request), reference, { actor: principal.actor, force });
      return reply.code(204).send();
    },
  );
}
