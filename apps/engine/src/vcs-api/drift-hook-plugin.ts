import { readJsonObject } from "@stackwright/base/json";
import { StackDirectory, type StoredKeys } from "@stackwright/core";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { ProjectName, StackNameSchema } from "../api/api-parts.ts";
import { answerProblem } from "../api/problem.ts";
import { compileRequestValidator } from "../api/validate-request.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { askForCheck } from "../drift/ask-for-check.ts";
import {
  concernsStack,
  DRIFT_HOOK_NAME,
  driftHookPlace,
  driftHookSecrets,
  onlyStackOf,
} from "../drift/drift-hook.ts";
import { projectCipher } from "../queue/project-secrets.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";
import type { DeliveryLimits } from "./delivery-limits.ts";
import { readSigned } from "./signed-delivery.ts";

interface DriftHookPluginOptions extends TransactionParts {
  readonly keys: StoredKeys;
  /** Of all webhooks of the server. */
  readonly limits: DeliveryLimits;
}

const Address = Type.Object({
  account: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" }),
  project: ProjectName,
  hook: Type.String({ pattern: DRIFT_HOOK_NAME }),
});
type AtAddress = { Params: Static<typeof Address> };

/** What another system says. Further members are its own. */
const Delivery = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 256 }),
  stack: Type.Optional(StackNameSchema),
  resources: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1_024 }), { maxItems: 1_000 }),
  ),
});
const DELIVERY = Compile(Delivery);

/** Bytes of a delivery. */
const BODY_LIMIT = 64 * 1024;

/**
 * Receives what other systems say of changes, to be registered under `/hooks/drift`: `/ACCOUNT/PROJECT/HOOK`. Nothing of a body is parsed
 * before the signature over its bytes was found right.
 */
export async function driftHookPlugin(
  fastify: FastifyInstance,
  options: DriftHookPluginOptions,
): Promise<void> {
  const { storage, keys, limits } = options;
  const stacks = new StackDirectory({ storage });
  fastify.setValidatorCompiler(compileRequestValidator);
  fastify.setErrorHandler(async (error, request, reply) => answerProblem(request, reply, error));
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  fastify.post<AtAddress>(
    "/:account/:project/:hook",
    { schema: { params: Address, hide: true } },
    async (request, reply) => {
      reply.header("cache-control", "no-store");
      const { account, project, hook: name } = request.params;
      const reference = { account, project, name };
      const { body, record: hook } = await readSigned(request, {
        limits,
        kinds: ["generic"],
        bodyLimit: BODY_LIMIT,
        find: async () => {
          const place = driftHookPlace(reference);
          const found = await readStored(storage, "strong", idOf(SERVER_KINDS.driftHook, place));
          if (found === undefined) return undefined;
          const record = decodeRecord(SERVER_KINDS.driftHook, found);
          const open = await projectCipher(keys, driftHookSecrets(reference));
          const secret = open([record.id], record.secret);
          return { record, kind: "generic", secret };
        },
      });
      const { id, stack = onlyStackOf(hook), resources = [] } = deliveryIn(body);
      if (stack === undefined) {
        throw new ServerError("invalid_request", "stack is missing: the hook is for several");
      }
      const named = concernsStack(hook, stack)
        ? await stacks.find({ account, project }, stack)
        : undefined;
      if (named === undefined) {
        throw new ServerError("not_found", `the hook is for no stack "${stack}"`);
      }
      const asked = { stack: named.reference, stackName: named.name };
      const { run, isNew } = await askForCheck(options, asked, { hook, id, resources });
      return reply.code(202).send({ stack: named.name, run, repeated: !isNew });
    },
  );
}

function deliveryIn(body: Uint8Array): Static<typeof Delivery> {
  const { object, problem } = readJsonObject(body);
  if (problem !== undefined) {
    throw new ServerError("invalid_request", "the delivery is not a JSON object");
  }
  if (DELIVERY.Check(object)) return object;
  const [first] = DELIVERY.Errors(object) as readonly {
    readonly instancePath: string;
    readonly message: string;
  }[];
  const what = first === undefined ? "" : `: ${first.instancePath} ${first.message}`;
  throw new ServerError("invalid_request", `the delivery is not valid${what}`);
}
