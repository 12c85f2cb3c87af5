import type { StoredKeys } from "@stackwright/core";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ProjectName } from "../api/api-parts.ts";
import { answerProblem } from "../api/problem.ts";
import { compileRequestValidator } from "../api/validate-request.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";
import { CONNECTION_KINDS, kindOf } from "../vcs/connection-kind.ts";
import { openSecrets } from "../vcs/connection-secrets.ts";
import { readDelivery } from "../vcs/delivery/read-delivery.ts";
import { receiveDelivery } from "../vcs/receive-delivery.ts";
import { connectionPlace } from "../vcs/vcs-places.ts";
import type { DeliveryLimits } from "./delivery-limits.ts";
import { readSigned } from "./signed-delivery.ts";

interface HookPluginOptions extends TransactionParts {
  readonly keys: StoredKeys;
  /** Of all webhooks of the server. */
  readonly limits: DeliveryLimits;
}

const Address = Type.Object({
  account: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" }),
  project: ProjectName,
  connection: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" }),
});
type AtAddress = { Params: Static<typeof Address> };

/** Bytes of a delivery. */
const BODY_LIMIT = 1024 * 1024;

/**
 * Receives the webhooks of Git servers, to be registered under `/hooks/vcs`: `/ACCOUNT/PROJECT/CONNECTION`. Nothing of a body is
 * parsed before the signature over its bytes was found right.
 */
export async function hookPlugin(
  fastify: FastifyInstance,
  options: HookPluginOptions,
): Promise<void> {
  const { storage, keys, clock, limits } = options;
  fastify.setValidatorCompiler(compileRequestValidator);
  fastify.setErrorHandler(async (error, request, reply) => answerProblem(request, reply, error));
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  fastify.post<AtAddress>(
    "/:account/:project/:connection",
    { schema: { params: Address, hide: true } },
    async (request, reply) => {
      reply.header("cache-control", "no-store");
      const { account, project, connection: name } = request.params;
      const reference = { account, project, name };
      const { body, record: connection } = await readSigned(request, {
        limits,
        kinds: CONNECTION_KINDS,
        bodyLimit: BODY_LIMIT,
        find: async () => {
          const id = idOf(SERVER_KINDS.vcsConnection, connectionPlace(reference));
          const found = await readStored(storage, "strong", id);
          if (found === undefined) return undefined;
          const record = decodeRecord(SERVER_KINDS.vcsConnection, found);
          const { webhookSecret: secret } = await openSecrets(keys, reference, record);
          return { record, kind: kindOf(record.kind), secret };
        },
      });
      const { repository, branch } = connection;
      const kind = kindOf(connection.kind);
      const { headers } = request;
      const nowMs = clock.wallMs();
      const event = readDelivery(body, { kind, headers, repository, branch, nowMs });
      const { id, isNew } = await receiveDelivery(options, reference, connection, { body, event });
      return reply.code(202).send({ delivery: id, event: event.event, repeated: !isNew });
    },
  );
}
