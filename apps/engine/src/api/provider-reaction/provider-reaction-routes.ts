import { ProviderReaction } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { projectPlace } from "../../domain/project-settings.ts";
import { PROVIDER_REACTIONS } from "../../domain/provider-reaction.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { stackPlace } from "../../domain/run-places.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf, transact } from "../../queue/transaction.ts";
import { type ApiParts, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import {
  ProviderReactionSettings,
  ProviderReactionView,
  providerReactionViewOf,
} from "./provider-reaction-view.ts";

const PATH = "/projects/:project/stacks/:stack/provider-reaction";
const KIND = SERVER_KINDS.providerReaction;

type InStack = { Params: Static<typeof StackParams> };

/** `/projects/{project}/stacks/{stack}/provider-reaction` */
export function providerReactionRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;

  fastify.get<InStack>(
    PATH,
    {
      schema: routeSchema(
        "Show what follows for a stack where a version of a provider that it uses changes, and what was noted",
        "ShowProviderReaction",
        { 200: ProviderReactionView },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const [found, project] = await Promise.all([
        readStored(storage, "strong", idOf(KIND, stackPlace(reference))),
        readStored(storage, "strong", idOf(SERVER_KINDS.project, projectPlace(reference))),
      ]);
      return providerReactionViewOf(
        found && decodeRecord(KIND, found),
        project && decodeRecord(SERVER_KINDS.project, project),
      );
    },
  );

  fastify.put<InStack & { Body: Static<typeof ProviderReactionSettings> }>(
    PATH,
    {
      schema: routeSchema(
        "Say what follows for a stack where a version of a provider that it uses changes, or that the project says it; what has changed already is noted at once",
        "SetProviderReaction",
        { 200: ProviderReactionView },
        { params: StackParams, body: ProviderReactionSettings },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const principal = principalOf(request);
      const { reference, name } = await stackOf(parts, principal, request.params);
      return transact(parts, async (tx) => {
        const row = await tx.findOrNew(KIND, stackPlace(reference), () =>
          ProviderReaction.create(),
        );
        const { reaction } = request.body;
        const inherits = reaction === "inherit";
        const project = await tx.find(SERVER_KINDS.project, projectPlace(reference));
        tx.update(row, {
          stackName: name,
          kind: PROVIDER_REACTIONS[inherits ? "none" : reaction],
          inherits,
          actor: principal.actor,
          updatedAtMs: BigInt(tx.nowMs),
          lastProblem: "",
        });
        return providerReactionViewOf(row.message, project?.message);
      });
    },
  );
}
