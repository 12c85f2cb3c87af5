import type { StackReference } from "@stackwright/core";
import { Variable } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { requireEnvironmentValues } from "../../domain/environment-values.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { readQueue } from "../../queue/stack-queue.ts";
import { idOf, transact } from "../../queue/transaction.ts";
import {
  CATEGORIES,
  readEffectiveVariables,
  variableContext,
  variablePrefix,
} from "../../worker/run-variables.ts";
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
import {
  EffectiveVariableView,
  effectiveViewOf,
  NewVariable,
  VariableCategory,
  VariableKey,
  VariableView,
  variableViewOf,
} from "./variable-view.ts";

const VariableParams = Type.Object({
  project: ProjectName,
  stack: StackNameSchema,
  category: VariableCategory,
  key: VariableKey,
});
/** Bytes of the values of one stack, which all go to its executor at once; and their number. */
const MAX_STACK_BYTES = 2 * 1024 * 1024;
const MAX_STACK_VARIABLES = 1_000;

/** `/projects/{project}/stacks/{stack}/variables` */
export function variableRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, keys, principalOf } = parts;
  fastify.get<{ Params: Static<typeof StackParams> }>(
    "/projects/:project/stacks/:stack/variables",
    {
      schema: routeSchema(
        "List the variables of a stack",
        "ListVariables",
        { 200: Type.Object({ variables: Type.Array(VariableView) }) },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const tenancy = projectTenancy(reference);
      const { type } = SERVER_KINDS.variable;
      const found = await storage.list("strong", type, tenancy, variablePrefix(reference));
      const variables = found.map((one) =>
        variableViewOf(decodeRecord(SERVER_KINDS.variable, one)),
      );
      return { variables: variables.toSorted((a, b) => (a.key < b.key ? -1 : 1)) };
    },
  );
  fastify.get<{ Params: Static<typeof StackParams> }>(
    "/projects/:project/stacks/:stack/effective-variables",
    {
      schema: routeSchema(
        "List the variables that runs of a stack have, with the sets that they are from",
        "ListEffectiveVariables",
        { 200: Type.Object({ variables: Type.Array(EffectiveVariableView) }) },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference, name } = await stackOf(parts, principalOf(request), request.params);
      const found = await readEffectiveVariables(storage, reference, name);
      return { variables: found.map(effectiveViewOf) };
    },
  );
  fastify.get<{ Params: Static<typeof VariableParams> }>(
    "/projects/:project/stacks/:stack/variables/:category/:key",
    {
      schema: routeSchema(
        "Show a variable; its entity tag is what If-Match takes",
        "ShowVariable",
        { 200: VariableView },
        { params: VariableParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { category, key } = request.params;
      const tenancy = projectTenancy(reference);
      const place = { tenancy, name: `${variablePrefix(reference)}${category}.${key}` };
      const found = await readStored(storage, "strong", idOf(SERVER_KINDS.variable, place));
      if (found === undefined) throw new ServerError("not_found", `there is no variable "${key}"`);
      reply.header("etag", etagOf(found.generation));
      return variableViewOf(decodeRecord(SERVER_KINDS.variable, found));
    },
  );

  fastify.put<{ Params: Static<typeof VariableParams>; Body: Static<typeof NewVariable> }>(
    "/projects/:project/stacks/:stack/variables/:category/:key",
    {
      schema: routeSchema(
        "Set a variable; If-Match is needed to replace one",
        "SetVariable",
        { 200: VariableView, 201: VariableView },
        { params: VariableParams, body: NewVariable, headers: MatchHeader },
        {
          412: "it changed since it was read",
          422: "the variables of the stack are too large, or no program can be given the value",
          428: "If-Match is missing",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { category, key } = request.params;
      const { value, sensitive = false, description = "" } = request.body;
      if (category === "env") requireEnvironmentValues({ [key]: value });
      const place = {
        tenancy: projectTenancy(reference),
        name: `${variablePrefix(reference)}${category}.${key}`,
      };
      const plain = Buffer.from(value);
      const context = variableContext(reference, category, key);
      const cipher = sensitive ? await keys.ensure(reference) : undefined;
      const message = Variable.create({
        key,
        category: CATEGORIES[category],
        value: cipher?.seal(plain, context) ?? plain,
        sensitive,
        description,
        updatedAtMs: BigInt(Math.floor(parts.clock.wallMs())),
      });
      // The tag is of this write. What is stored when it is answered may be another one, which the caller has not seen.
      const { isNew, generation } = await transact(parts.audited(request), async (tx) => {
        // Every variable that is set writes the queue, so that two at once do not both find room.
        tx.update(await readQueue(tx, reference), {});
        await requireRoom(parts, reference, place.name, plain.byteLength);
        const row = await tx.find(SERVER_KINDS.variable, place);
        if (row === undefined) {
          if (request.headers["if-match"] !== undefined) throw new ServerError("changed");
          tx.create(SERVER_KINDS.variable, place, message);
          return { isNew: true, generation: tx.generation };
        }
        requireMatch(request, row.resource.generation);
        tx.update(row, message);
        return { isNew: false, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return reply.code(isNew ? 201 : 200).send(variableViewOf(message));
    },
  );
  fastify.delete<{ Params: Static<typeof VariableParams> }>(
    "/projects/:project/stacks/:stack/variables/:category/:key",
    {
      schema: routeSchema(
        "Delete a variable",
        "DeleteVariable",
        { 204: Type.Null() },
        { params: VariableParams, headers: MatchHeader },
        { 412: "it changed since it was read", 428: "If-Match is missing" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { category, key } = request.params;
      const tenancy = projectTenancy(reference);
      const place = { tenancy, name: `${variablePrefix(reference)}${category}.${key}` };
      await transact(parts.audited(request), async (tx) => {
        const row = await tx.find(SERVER_KINDS.variable, place);
        if (row === undefined) throw new ServerError("not_found", `there is no variable "${key}"`);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );
}

/** `unprocessable` where the other variables of a stack leave no room for a value. */
async function requireRoom(
  { storage }: ApiParts,
  stack: StackReference,
  name: string,
  size: number,
): Promise<void> {
  const { type } = SERVER_KINDS.variable;
  const found = await storage.list("strong", type, projectTenancy(stack), variablePrefix(stack));
  const others = found.filter(({ id }) => id.name !== name);
  const sizes = others.map((one) => decodeRecord(SERVER_KINDS.variable, one).value.byteLength);
  const total = sizes.reduce((sum, one) => sum + one, size);
  if (total <= MAX_STACK_BYTES && others.length < MAX_STACK_VARIABLES) return;
  throw new ServerError(
    "unprocessable",
    `the variables of a stack have at most ${MAX_STACK_BYTES} bytes, and are at most ${MAX_STACK_VARIABLES}`,
  );
}
