import { VariableSet } from "@stackwright/proto/stackwright";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import {
  changeSet,
  createSet,
  listSets,
  noSet,
  readSet,
  removeSet,
  removeSetVariable,
  setsOfProject,
  writeSetVariable,
} from "../../variables/variable-sets.ts";
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

type InProject = { Params: Static<typeof ProjectParams> };
type InSet = { Params: Static<typeof SetParams> };
type InVariable = { Params: Static<typeof SetVariableParams> };

/** `/projects/{project}/variable-sets` */
export function variableSetRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const homeOf = (request: FastifyRequest<InProject>) => {
    const { project } = request.params;
    checkProjectName(project);
    return setsOfProject({ ...principalOf(request), project });
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
      const sets = (await listSets(storage, homeOf(request))).map(variableSetViewOf);
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
      const made = VariableSet.create({ name, ...setChangeOf(settings) });
      const { set, generation } = await createSet(parts.audited(request), homeOf(request), made);
      const location = `/api/v1/projects/${project}/variable-sets/${name}`;
      reply.headers({ location, etag: etagOf(generation) });
      return reply.code(201).send(variableSetViewOf(set));
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
      const found = await readSet(storage, homeOf(request), request.params.set);
      if (found === undefined) throw noSet(request.params.set);
      reply.header("etag", etagOf(found.generation));
      return variableSetViewOf(found.set);
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
      const changed = await changeSet(
        parts.audited(request),
        homeOf(request),
        request.params.set,
        ({ resource }) => {
          requireMatch(request, resource.generation);
          return setChangeOf(request.body);
        },
      );
      const { set, generation } = changed;
      reply.header("etag", etagOf(generation));
      return variableSetViewOf(set);
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
      const { set } = request.params;
      await removeSet(parts.audited(request), homeOf(request), set, (version) => {
        requireMatch(request, version);
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
      const written = await writeSetVariable(
        parts.audited(request),
        homeOf(request),
        request.params,
        (stored, version) => {
          if (stored !== undefined || request.headers["if-match"] !== undefined) {
            requireMatch(request, version);
          }
          return request.body;
        },
      );
      const { variable, isNew, generation } = written;
      reply.header("etag", etagOf(generation));
      return reply.code(isNew ? 201 : 200).send(variableViewOf(variable));
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
      const change = parts.audited(request);
      await removeSetVariable(change, homeOf(request), request.params, (version) => {
        requireMatch(request, version);
      });
      return reply.code(204).send();
    },
  );
}
