import { randomBytes } from "node:crypto";
import { DriftHook } from "@stackwright/proto/stackwright";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { STACK_PATTERN } from "../../domain/stack-pattern.ts";
import {
  DRIFT_HOOK_NAME,
  type DriftHookReference,
  driftHookPlace,
  driftHookSecrets,
} from "../../drift/drift-hook.ts";
import { listReadable, logDamaged } from "../../queue/list-readable.ts";
import { sealProjectSecret } from "../../queue/project-secrets.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { transact } from "../../queue/transaction.ts";
import {
  type ApiParts,
  checkProjectName,
  ProjectName,
  ProjectParams,
  routeSchema,
} from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";

const KIND = SERVER_KINDS.driftHook;
const ALL = "/projects/:project/drift-hooks";
/** Hooks of a project, and patterns of one. */
const MAX_HOOKS = 50;
const MAX_STACKS = 50;

const HookName = Type.String({
  pattern: DRIFT_HOOK_NAME,
  description: "unique in the project; part of the address of the webhook",
});
const Stacks = Type.Array(Type.String({ pattern: STACK_PATTERN }), {
  maxItems: MAX_STACKS,
  description: "patterns of names of stacks that it may ask about; none: all of the project",
});
const NewHook = Type.Object(
  {
    name: HookName,
    stacks: Type.Optional(Stacks),
    webhook_secret: Type.Optional(
      Type.String({
        minLength: 16,
        maxLength: 256,
        pattern: "^[!-~]+$",
        description: "signs deliveries; made by the server by default",
      }),
    ),
  },
  { additionalProperties: false, title: "NewDriftHook" },
);
const HookView = Type.Object(
  {
    name: Type.String(),
    stacks: Stacks,
    webhook_path: Type.String({ description: "where deliveries are sent, at this server" }),
    webhook_secret: Type.Optional(
      Type.String({ description: "shown once: where the hook is created" }),
    ),
    actor: Type.String({ description: "who created it, the author of the checks" }),
    created_at: Type.String(),
  },
  { title: "DriftHook" },
);

type InProject = { Params: Static<typeof ProjectParams> };
const HookParams = Type.Object({ project: ProjectName, hook: HookName });
type OneHook = { Params: Static<typeof HookParams> };

/** `/projects/{project}/drift-hooks`: by which other systems ask for checks, with signed webhooks. */
export function driftHookRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, keys, principalOf } = parts;

  fastify.get<InProject>(
    ALL,
    {
      schema: routeSchema(
        "List the hooks by which other systems ask for checks for drift",
        "ListDriftHooks",
        { 200: Type.Object({ hooks: Type.Array(HookView) }) },
        { params: ProjectParams },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const { project } = request.params;
      checkProjectName(project);
      const place = { account: principalOf(request).account, project };
      const onDamaged = logDamaged(request.log);
      const found = await listReadable(storage, KIND, projectTenancy(place), { onDamaged });
      const hooks = found.map(({ message }) => hookViewOf(message, place));
      return { hooks: hooks.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    },
  );

  fastify.post<InProject & { Body: Static<typeof NewHook> }>(
    ALL,
    {
      schema: routeSchema(
        "Let another system ask for checks for drift, by signed webhooks",
        "CreateDriftHook",
        { 201: HookView },
        { params: ProjectParams, body: NewHook },
        { 409: "the name is in use", 422: "the project has as many as it may" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { project } = request.params;
      checkProjectName(project);
      const { account, actor } = principalOf(request);
      const { name, stacks = [] } = request.body;
      const reference: DriftHookReference = { account, project, name };
      const secret = request.body.webhook_secret ?? randomBytes(32).toString("base64url");
      const id = parts.token();
      const hook = await transact(parts.audited(request), async (tx) => {
        const place = driftHookPlace(reference);
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `the project has a drift hook "${name}"`);
        }
        const detail = `a project has at most ${MAX_HOOKS} drift hooks`;
        const tenancy = projectTenancy(reference);
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_HOOKS, detail });
        const owner = { ...driftHookSecrets(reference), path: [id] };
        const sealed = await sealProjectSecret(tx, keys, owner, secret);
        const createdAtMs = BigInt(tx.nowMs);
        const made = DriftHook.create({ id, name, secret: sealed, stacks, actor, createdAtMs });
        tx.create(KIND, place, made);
        return made;
      });
      return reply.code(201).send({ ...hookViewOf(hook, reference), webhook_secret: secret });
    },
  );

  fastify.delete<OneHook>(
    `${ALL}/:hook`,
    {
      schema: routeSchema(
        "Delete a hook: its deliveries are refused from then on",
        "DeleteDriftHook",
        { 204: Type.Null() },
        { params: HookParams },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { project, hook: name } = request.params;
      checkProjectName(project);
      const reference = { account: principalOf(request).account, project, name };
      await transact(parts.audited(request), async (tx) => {
        const row = await tx.find(KIND, driftHookPlace(reference));
        if (row === undefined)
          throw new ServerError("not_found", `there is no drift hook "${name}"`);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );
}

function hookViewOf(
  { name, stacks, actor, createdAtMs }: DriftHook,
  { account, project }: Pick<DriftHookReference, "account" | "project">,
): Static<typeof HookView> {
  return {
    name,
    stacks: [...stacks],
    webhook_path: `/hooks/drift/${account}/${project}/${name}`,
    actor,
    created_at: timeOf(createdAtMs),
  };
}
