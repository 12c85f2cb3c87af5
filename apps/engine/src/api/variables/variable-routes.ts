import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf } from "../../queue/transaction.ts";
import {
  listStackVariables,
  noVariable,
  removeStackVariable,
  stackVariablePlace,
  writeStackVariable,
} from "../../variables/stack-variables.ts";
import { readEffectiveVariables } from "../../worker/run-variables.ts";
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

/** `/projects/{project}/stacks/{stack}/variables` */
export function variableRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
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
      const variables = await listStackVariables(storage, reference);
      return { variables: variables.map(variableViewOf) };
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
      const place = stackVariablePlace({ stack: reference, category, key });
      const found = await readStored(storage, "strong", idOf(SERVER_KINDS.variable, place));
      if (found === undefined) throw noVariable(key);
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
      const at = { stack: reference, category, key };
      const written = await writeStackVariable(parts.audited(request), at, (stored) => {
        if (stored !== undefined) requireMatch(request, stored.version);
        else if (request.headers["if-match"] !== undefined) throw new ServerError("changed");
        return request.body;
      });
      const { variable, isNew, generation } = written;
      reply.header("etag", etagOf(generation));
      return reply.code(isNew ? 201 : 200).send(variableViewOf(variable));
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
      const at = { stack: reference, category, key };
      await removeStackVariable(parts.audited(request), at, (version) => {
        requireMatch(request, version);
      });
      return reply.code(204).send();
    },
  );
}
