import type { NamedStack } from "@stackwright/core";
import { RunTrigger, TriggerGraph } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { tenancyOf } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { MODE_OF } from "../../domain/run-modes.ts";
import { memberPlace, STACK_OUTPUTS_KIND, stackPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { guardedProject, requireAutoApply, requireContinues } from "../../queue/auto-apply-rule.ts";
import { type Transaction, transact } from "../../queue/transaction.ts";
import { consumerOf, listTriggers, wayBetween } from "../../trigger/trigger-graph.ts";
import { type ApiParts, etagOf, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { seesProject, seesStack } from "../authorize.ts";
import { stackMemberRoutes } from "../stack-member-routes.ts";
import { NewTrigger, TriggerChange, TriggerView, triggerViewOf } from "./trigger-view.ts";

const TRIGGERS = "/projects/:project/stacks/:stack/triggers";
const KIND = SERVER_KINDS.trigger;

/** Triggers of one stack. */
const MAX_OF_STACK = 20;
/** Triggers of one account: all are read when one is created. */
const MAX_OF_ACCOUNT = 5_000;

type InStack = { Params: Static<typeof StackParams> };

/** `/projects/{project}/stacks/{stack}/triggers` */
export function triggerRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { principalOf } = parts;
  stackMemberRoutes(fastify, parts, {
    kind: KIND,
    noun: "trigger",
    name: "Trigger",
    view: TriggerView,
    viewOf: triggerViewOf,
    change: TriggerChange,
    changes: "Change the message of a trigger, pause it, or let it continue",
    changed: (_trigger, body, nowMs) => ({ ...body, updatedAtMs: BigInt(nowMs) }),
    requireAllowed: async (tx, place, change) =>
      requireContinues(tx, place, change, "create another trigger"),
  });

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
          422: "it would close a cycle, there are as many triggers as there may be, or the project applies no plan without an approval",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const consumer = await stackOf(parts, principal, request.params);
      const {
        producer: given,
        mode,
        auto_apply: autoApply,
        message,
        outputs: names = [],
      } = request.body;
      const { project = request.params.project, stack } = given;
      const producer = await producerOf(parts, principal, { project, stack });
      const id = parts.token();
      const place = memberPlace(consumer.reference, id);
      const { made, generation } = await transact(parts.audited(request), async (tx) => {
        if (autoApply === true) {
          requireAutoApply(await guardedProject(tx, consumer.reference), "create the trigger");
        }
        await requireAllowed(tx, parts, { consumer, producer, principal });
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
          outputs: names,
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
}

/** The stack whose outputs are followed. Where it is closed to the caller, or its project, it is not found, as everywhere. */
async function producerOf(
  parts: ApiParts,
  principal: Principal,
  place: { readonly project: string; readonly stack: string },
): Promise<NamedStack> {
  const { project, stack } = place;
  if (!seesProject(principal, project) || !seesStack(principal, project, stack)) {
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
  {
    consumer,
    producer,
    principal,
  }: {
    readonly consumer: NamedStack;
    readonly producer: NamedStack;
    readonly principal: Principal;
  },
): Promise<void> {
  const { account, project, stack } = consumer.reference;
  const site = { tenancy: tenancyOf({ kind: "account", account }), name: "triggers" };
  const graph = await tx.findOrNew(SERVER_KINDS.triggerGraph, site, () => TriggerGraph.create());
  tx.update(graph, { created: graph.message.created + 1n });
  const others = await listTriggers({ storage }, account);
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
    const whole = way.length === 1 ? [names[1], names[1]] : [...way, names[1]];
    const cycle = whole.map((one) =>
      isShown(principal, one) ? one : "a stack that you do not see",
    );
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

/** Whether a caller may know of a stack, as PROJECT/STACK. */
function isShown(principal: Principal, place: string): boolean {
  const [project = "", stack = ""] = place.split("/");
  return seesProject(principal, project) && seesStack(principal, project, stack);
}
