import { VariableSet } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { requireEnvironmentValues } from "../../domain/environment-values.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { type Place, projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { sealProjectSecret } from "../../queue/project-secrets.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../../queue/transaction.ts";
import { setVariableSecret } from "../../worker/run-variables.ts";
import {
  type ApiParts,
  checkProjectName,
  etagOf,
  MatchHeader,
  ProjectName,
  ProjectParams,
  requireMatch,
  routeSchema,
} from "../api-parts.ts";
import {
  NewVariable,
  VariableCategory,
  VariableKey,
  VariableView,
  variableViewOf,
} from "../variables/variable-view.ts";
import { MAX_SETS, noSet, setVariableOf, withoutVariable } from "./set-variables.ts";
import {
  NewVariableSet,
  SetName,
  setChangeOf,
  VariableSetSettings,
  VariableSetView,
  variableSetViewOf,
} from "./variable-set-view.ts";

const SetParams = Type.Object({ project: ProjectName, set: SetName });
const SetVariableParams = Type.Object({
  project: ProjectName,
  set: SetName,
  category: VariableCategory,
  key: VariableKey,
});
const SETS = "/projects/:project/variable-sets";
const VARIABLE = `${SETS}/:set/variables/:category/:key`;
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.variableSet;

type InProject = { Params: Static<typeof ProjectParams> };
type InSet = { Params: Static<typeof SetParams> };
type InVariable = { Params: Static<typeof SetVariableParams> };

/** `/projects/{project}/variable-sets` */
export function variableSetRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, keys, principalOf } = parts;
  const placeOf = (
    request: FastifyRequest,
    { project, set }: { readonly project: string; readonly set: string },
  ): Place => {
    checkProjectName(project);
    return { tenancy: projectTenancy({ ...principalOf(request), project }), name: set };
  };
  const listSets = async (request: FastifyRequest<InProject>) => {
    const { tenancy } = placeOf(request, { ...request.params, set: "" });
    return storage.list("strong", KIND.type, tenancy, "");
  };

  fastify.get<InProject>(
    SETS,
    {
      schema: routeSchema(
        "List the variable sets of a project",
        "ListVariableSets",
        { 200: Type.Object({ sets: Type.Array(VariableSetView) }) },
        { params: ProjectParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const sets = (await listSets(request)).map((one) =>
        variableSetViewOf(decodeRecord(KIND, one)),
      );
      return { sets: sets.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    },
  );

  fastify.post<InProject & { Body: Static<typeof NewVariableSet> }>(
    SETS,
    {
      schema: routeSchema(
        "Create a variable set: for all stacks of a project, or those that patterns name",
        "CreateVariableSet",
        { 201: VariableSetView },
        { params: ProjectParams, body: NewVariableSet },
        { 409: "the name is in use", 422: "the project has too many sets" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { name, ...settings } = request.body;
      const { project } = request.params;
      const place = placeOf(request, { project, set: name });
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `the project has a variable set "${name}"`);
        }
        const detail = `a project has at most ${MAX_SETS} variable sets`;
        const { tenancy } = place;
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_SETS, detail });
        const at = BigInt(tx.nowMs);
        const times = { createdAtMs: at, updatedAtMs: at };
        const made = VariableSet.create({ name, ...setChangeOf(settings), ...times });
        tx.create(KIND, place, made);
        return { message: made, generation: tx.generation };
      });
      const location = `/api/v1/projects/${project}/variable-sets/${name}`;
      reply.headers({ location, etag: etagOf(generation) });
      return reply.code(201).send(variableSetViewOf(message));
    },
  );

  fastify.get<InSet>(
    `${SETS}/:set`,
    {
      schema: routeSchema(
        "Show a variable set; its entity tag is what If-Match takes",
        "ShowVariableSet",
        { 200: VariableSetView },
        { params: SetParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const place = placeOf(request, request.params);
      const found = await readStored(storage, "strong", idOf(KIND, place));
      if (found === undefined) throw noSet(place.name);
      reply.header("etag", etagOf(found.generation));
      return variableSetViewOf(decodeRecord(KIND, found));
    },
  );

  fastify.patch<InSet & { Body: Static<typeof VariableSetSettings> }>(
    `${SETS}/:set`,
    {
      schema: routeSchema(
        "Change the stacks, the priority or the description of a variable set",
        "ChangeVariableSet",
        { 200: VariableSetView },
        { params: SetParams, body: VariableSetSettings, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const place = placeOf(request, request.params);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, place);
        requireMatch(request, row.resource.generation);
        tx.update(row, { ...setChangeOf(request.body), updatedAtMs: BigInt(tx.nowMs) });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return variableSetViewOf(message);
    },
  );

  fastify.delete<InSet>(
    `${SETS}/:set`,
    {
      schema: routeSchema(
        "Delete a variable set with its variables",
        "DeleteVariableSet",
        { 204: Type.Null() },
        { params: SetParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const place = placeOf(request, request.params);
      await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, place);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );

  fastify.put<InVariable & { Body: Static<typeof NewVariable> }>(
    VARIABLE,
    {
      schema: routeSchema(
        "Set a variable of a set; to replace one, If-Match names the entity tag of the set",
        "SetSetVariable",
        { 200: VariableView, 201: VariableView },
        { params: SetVariableParams, body: NewVariable, headers: MatchHeader },
        {
          ...CHANGED,
          422: "the variables of the set are too large, or no program can be given the value",
        },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { category, key, project, set } = request.params;
      const place = placeOf(request, request.params);
      if (category === "env") requireEnvironmentValues({ [key]: request.body.value });
      const secret = setVariableSecret({ ...principalOf(request), project }, set, category, key);
      const { variable, isAdded, generation } = await transact(
        parts.audited(request),
        async (tx) => {
          const row = await findSet(tx, place);
          const seal = async (plain: Buffer) => sealProjectSecret(tx, keys, secret, plain);
          const set = await setVariableOf(request, row, seal, tx.nowMs);
          tx.update(row, set.change);
          return { ...set, generation: tx.generation };
        },
      );
      reply.header("etag", etagOf(generation));
      return reply.code(isAdded ? 201 : 200).send(variableViewOf(variable));
    },
  );

  fastify.delete<InVariable>(
    VARIABLE,
    {
      schema: routeSchema(
        "Delete a variable of a set; If-Match names the entity tag of the set",
        "DeleteSetVariable",
        { 204: Type.Null() },
        { params: SetVariableParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const place = placeOf(request, request.params);
      await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, place);
        const variables = withoutVariable(row.message, request.params);
        requireMatch(request, row.resource.generation);
        tx.update(row, { variables, updatedAtMs: BigInt(tx.nowMs) });
      });
      return reply.code(204).send();
    },
  );
}

async function findSet(tx: Transaction, place: Place): Promise<StoredRow<VariableSet>> {
  const row = await tx.find(KIND, place);
  if (row === undefined) throw noSet(place.name);
  return row;
}
