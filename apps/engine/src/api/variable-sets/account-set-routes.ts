import { AccountVariableSet } from "@stackwright/proto/stackwright";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { isSetForProject } from "../../domain/variable-precedence.ts";
import {
  changeSet,
  createSet,
  listSets,
  noSet,
  readSet,
  removeSet,
  removeSetVariable,
  setsOfAccount,
  writeSetVariable,
} from "../../variables/variable-sets.ts";
import {
  type ApiParts,
  etagOf,
  MatchHeader,
  ProjectName,
  requireMatch,
  routeSchema,
} from "../api-parts.ts";
import { seesProject } from "../authorize.ts";
import {
  NewVariable,
  VariableCategory,
  VariableKey,
  VariableView,
  variableViewOf,
} from "../variables/variable-view.ts";
import { SeenStacks } from "./seen-stacks.ts";
import { shownAccountSets } from "./shown-account-sets.ts";
import {
  AccountVariableSetSettings,
  AccountVariableSetView,
  accountSetChangeOf,
  accountSetViewOf,
  NewAccountVariableSet,
  SetName,
} from "./variable-set-view.ts";

const SetParams = Type.Object({ set: SetName });
const SetVariableParams = Type.Object({
  set: SetName,
  category: VariableCategory,
  key: VariableKey,
});
const SetQuery = Type.Object(
  { project: Type.Optional(ProjectName) },
  { additionalProperties: false },
);
const SETS = "/variable-sets";
const SET = `${SETS}/:set`;
const VARIABLE = `${SET}/variables/:category/:key`;
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };

type InSet = { Params: Static<typeof SetParams> };
type InVariable = { Params: Static<typeof SetVariableParams> };

/** `/variable-sets`: variables for projects of an account, which its administrators write. */
export function accountSetRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const homeOf = (request: FastifyRequest) => setsOfAccount(principalOf(request).account);

  fastify.get<{ Querystring: Static<typeof SetQuery> }>(
    SETS,
    {
      schema: routeSchema(
        "List the variable sets of the account, for projects that the caller sees",
        "ListAccountVariableSets",
        { 200: Type.Object({ sets: Type.Array(AccountVariableSetView) }) },
        { querystring: SetQuery },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const principal = principalOf(request);
      const { project } = request.query;
      // Otherwise the patterns that are not shown could be guessed.
      if (project !== undefined && !seesProject(principal, project)) {
        throw new ServerError("not_found", `there is no project "${project}"`);
      }
      const sets = (await listSets(storage, homeOf(request))).filter(
        (set) => project === undefined || isSetForProject(set, project),
      );
      const seen = new SeenStacks(storage, principal.account);
      const shown = await shownAccountSets(seen, principal, sets);
      const inOrder = shown.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return { sets: inOrder.map(accountSetViewOf) };
    },
  );

  fastify.post<{ Body: Static<typeof NewAccountVariableSet> }>(
    SETS,
    {
      schema: routeSchema(
        "Create a variable set of the account: for all projects, or those and the stacks that patterns name",
        "CreateAccountVariableSet",
        { 201: AccountVariableSetView },
        { body: NewAccountVariableSet },
        { 409: "the name is in use", 422: "the account has too many sets" },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { name, ...settings } = request.body;
      const made = AccountVariableSet.create({ name, ...accountSetChangeOf(settings) });
      const { set, generation } = await createSet(parts.audited(request), homeOf(request), made);
      reply.headers({ location: `/api/v1${SETS}/${name}`, etag: etagOf(generation) });
      return reply.code(201).send(accountSetViewOf(set));
    },
  );

  fastify.get<InSet>(
    SET,
    {
      schema: routeSchema(
        "Show a variable set of the account; its entity tag is what If-Match takes",
        "ShowAccountVariableSet",
        { 200: AccountVariableSetView },
        { params: SetParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { set: name } = request.params;
      const found = await readSet(storage, homeOf(request), name);
      const sets = found === undefined ? [] : [found.set];
      const seen = new SeenStacks(storage, principal.account);
      const [set] = await shownAccountSets(seen, principal, sets);
      if (found === undefined || set === undefined) throw noSet(name);
      reply.header("etag", etagOf(found.generation));
      return accountSetViewOf(set);
    },
  );

  fastify.patch<InSet & { Body: Static<typeof AccountVariableSetSettings> }>(
    SET,
    {
      schema: routeSchema(
        "Change the projects, the stacks, the priority or the description of a variable set of the account",
        "ChangeAccountVariableSet",
        { 200: AccountVariableSetView },
        { params: SetParams, body: AccountVariableSetSettings, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const changed = await changeSet(
        parts.audited(request),
        homeOf(request),
        request.params.set,
        ({ resource }) => {
          requireMatch(request, resource.generation);
          return accountSetChangeOf(request.body);
        },
      );
      const { set, generation } = changed;
      reply.header("etag", etagOf(generation));
      return accountSetViewOf(set);
    },
  );

  fastify.delete<InSet>(
    SET,
    {
      schema: routeSchema(
        "Delete a variable set of the account with its variables",
        "DeleteAccountVariableSet",
        { 204: Type.Null() },
        { params: SetParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "account-admin" },
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
        "Set a variable of a set of the account; to replace one, If-Match names the entity tag of the set",
        "SetAccountSetVariable",
        { 200: VariableView, 201: VariableView },
        { params: SetVariableParams, body: NewVariable, headers: MatchHeader },
        {
          ...CHANGED,
          422: "the variables of the set are too large, or no program can be given the value",
        },
      ),
      config: { access: "account-admin" },
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
        "Delete a variable of a set of the account; If-Match names the entity tag of the set",
        "DeleteAccountSetVariable",
        { 204: Type.Null() },
        { params: SetVariableParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "account-admin" },
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
