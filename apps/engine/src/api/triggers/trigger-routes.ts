import type { NamedStack } from "@stackwright/core";
import { RunTrigger, TriggerGraph } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { readStored, tenancyOf } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import {
  memberPlace,
  type Place,
  STACK_OUTPUTS_KIND,
  stackPlace,
} from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../../queue/transaction.ts";
import { consumerOf, listTriggers, wayBetween } from "../../trigger/trigger-graph.ts";
import {
  type ApiParts,
  etagOf,
  MatchHeader,
  ProjectName,
  requireMatch,
  routeSchema,
  StackNameSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { MODE_OF } from "../runs/run-view.ts";
import { NewTrigger, TriggerChange, TriggerView, triggerViewOf } from "./trigger-view.ts";

const TriggerParams = Type.Object({
  project: ProjectName,
  stack: StackNameSchema,
  trigger: Type.String({ pattern: "^[0-9A-Z]{26}$" }),
});
const TRIGGERS = "/projects/:project/stacks/:stack/triggers";
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.trigger;

/** Triggers of one stack. */
const MAX_OF_STACK = 20;
/** Triggers of one account: all are read when one is created. */
const MAX_OF_ACCOUNT = 5_000;

type InStack = { Params: Static<typeof StackParams> };
type InTrigger = { Params: Static<typeof TriggerParams> };

/** `/projects/{project}/stacks/{stack}/triggers` */
export function triggerRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const placeOf = async (request: FastifyRequest<InTrigger>): Promise<Place> => {
    const { reference } = await stackOf(parts, principalOf(request), request.params);
    return memberPlace(reference, request.params.trigger);
  };
  const findTrigger = async (tx: Transaction, place: Place): Promise<StoredRow<RunTrigger>> => {
    const row = await tx.find(KIND, place);
    if (row === undefined) throw noTrigger(place);
    return row;
  };

  fastify.get<InStack>(
    TRIGGERS,
    {
      schema: routeSchema(
        "List the triggers of a stack, the oldest first",
        "ListTriggers",
        { 200: Type.Object({ triggers: Type.Array(TriggerView) }) },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { tenancy, name } = memberPlace(reference, "");
      const found = await storage.list("strong", KIND.type, tenancy, name);
      const triggers = found.map((one) => triggerViewOf(decodeRecord(KIND, one)));
      return { triggers: triggers.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
    },
  );

  fastify.post<InStack & { Body: Static<typeof NewTrigger> }>(
    TRIGGERS,
    {
      schema: routeSchema(
        "Create a trigger: runs of this stack when the outputs of another one have changed",
        "CreateTrigger",
        { 201: TriggerView },
        { params: StackParams, body: NewTrigger },
        {
          409: "there is a trigger for the two stacks",
          422: "it would close a cycle, or there are as many triggers as there may be",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const consumer = await stackOf(parts, principal, request.params);
      const { producer: given, mode, auto_apply: autoApply, message } = request.body;
      const { project = request.params.project, stack } = given;
      const producer = await producerOf(parts, principal, { project, stack });
      const id = parts.token();
      const place = memberPlace(consumer.reference, id);
      const { made, generation } = await transact(parts, async (tx) => {
        await requireAllowed(tx, parts, { consumer, producer });
        const outputs = await tx.find(STACK_OUTPUTS_KIND, stackPlace(producer.reference));
        const trigger = RunTrigger.create({
          id,
          stackName: consumer.name,
          producerProject: project,
          producer: producer.reference.stack,
          producerName: producer.name,
          mode: MODE_OF[mode],
          ...(autoApply !== undefined && { autoApply }),
          message: message ?? "",
          revision: outputs?.message.revision ?? 0n,
          actor: principal.actor,
          createdAtMs: BigInt(tx.nowMs),
          updatedAtMs: BigInt(tx.nowMs),
        });
        tx.create(KIND, place, trigger);
        return { made: trigger, generation: tx.generation };
      });
      const own = `/api/v1/projects/${request.params.project}/stacks/${consumer.name}/triggers/${id}`;
      reply.headers({ location: own, etag: etagOf(generation) });
      return reply.code(201).send(triggerViewOf(made));
    },
  );

  fastify.get<InTrigger>(
    `${TRIGGERS}/:trigger`,
    {
      schema: routeSchema(
        "Show a trigger; its entity tag is what If-Match takes",
        "ShowTrigger",
        { 200: TriggerView },
        { params: TriggerParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      const found = await readStored(storage, "strong", idOf(KIND, place));
      if (found === undefined) throw noTrigger(place);
      reply.header("etag", etagOf(found.generation));
      return triggerViewOf(decodeRecord(KIND, found));
    },
  );

  fastify.patch<InTrigger & { Body: Static<typeof TriggerChange> }>(
    `${TRIGGERS}/:trigger`,
    {
      schema: routeSchema(
        "Change the message of a trigger, pause it, or let it continue",
        "ChangeTrigger",
        { 200: TriggerView },
        { params: TriggerParams, body: TriggerChange, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts, async (tx) => {
        const row = await findTrigger(tx, place);
        requireMatch(request, row.resource.generation);
        tx.update(row, { ...request.body, actor, updatedAtMs: BigInt(tx.nowMs) });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return triggerViewOf(message);
    },
  );

  fastify.delete<InTrigger>(
    `${TRIGGERS}/:trigger`,
    {
      schema: routeSchema(
        "Delete a trigger; its runs stay",
        "DeleteTrigger",
        { 204: Type.Null() },
        { params: TriggerParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      await transact(parts, async (tx) => {
        const row = await findTrigger(tx, place);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );
}

/** The stack whose outputs are followed. In a project that is closed to the caller it is not found, as everywhere. */
async function producerOf(
  parts: ApiParts,
  principal: Principal,
  place: { readonly project: string; readonly stack: string },
): Promise<NamedStack> {
  const { projects } = principal;
  if (projects.length > 0 && !projects.includes(place.project)) {
    throw new ServerError("not_found", `there is no stack "${place.stack}"`);
  }
  return stackOf(parts, principal, place);
}

/**
 * Refuses a trigger that exists, that would close a cycle, or that is one too many. Every new trigger of the account writes the
 * graph, so that of two at once the second sees the first.
 */
async function requireAllowed(
  tx: Transaction,
  { storage }: Pick<ApiParts, "storage">,
  { consumer, producer }: { readonly consumer: NamedStack; readonly producer: NamedStack },
): Promise<void> {
  const { account, project, stack } = consumer.reference;
  const site = { tenancy: tenancyOf({ kind: "account", account }), name: "triggers" };
  const graph = await tx.findOrNew(SERVER_KINDS.triggerGraph, site, () => TriggerGraph.create());
  tx.update(graph, { created: graph.message.created + 1n });
  const others = await listTriggers(storage, account);
  const ofStack = others.filter(({ place }) => {
    const own = consumerOf(place);
    return own.project === project && own.stack === stack;
  });
  const from = producer.reference;
  const names = [`${from.project}/${producer.name}`, `${project}/${consumer.name}`] as const;
  const known = ofStack.find(
    ({ message }) => message.producer === from.stack && message.producerProject === from.project,
  );
  if (known !== undefined) {
    throw new ServerError(
      "conflict",
      `the trigger ${known.message.id} follows ${names[0]} already`,
    );
  }
  const way = wayBetween(others, consumer.reference, from);
  if (way !== undefined) {
    const cycle = way.length === 1 ? [names[1], names[1]] : [...way, names[1]];
    throw new ServerError(
      "unprocessable",
      `the trigger would close a cycle: ${cycle.join(" -> ")}. Runs would request each other without end`,
    );
  }
  if (ofStack.length >= MAX_OF_STACK) {
    throw new ServerError("unprocessable", `a stack has at most ${MAX_OF_STACK} triggers`);
  }
  if (others.length >= MAX_OF_ACCOUNT) {
    throw new ServerError("unprocessable", `an account has at most ${MAX_OF_ACCOUNT} triggers`);
  }
}

function noTrigger({ name }: Place): ServerError {
  const id = name.slice(name.indexOf(".") + 1);
  return new ServerError("not_found", `the stack has no trigger ${id}`);
}
