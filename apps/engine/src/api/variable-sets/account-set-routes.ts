import { AccountVariableSet } from "@stackwright/proto/stackwright";
import { readStored, tenancyOf } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { requireEnvironmentValues } from "../../domain/environment-values.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import type { Place } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { isSetForProject } from "../../domain/variable-precedence.ts";
import { sealProjectSecret } from "../../queue/project-secrets.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../../queue/transaction.ts";
import { accountSetSecret } from "../../worker/run-variables.ts";
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
import { MAX_SETS, noSet, setVariableOf, withoutVariable } from "./set-variables.ts";
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
const KIND = SERVER_KINDS.accountVariableSet;

type InSet = { Params: Static<typeof SetParams> };
type InVariable = { Params: Static<typeof SetVariableParams> };

/** `/variable-sets`: variables for projects of an account, which its administrators write. */
export function accountSetRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, keys, principalOf } = parts;
  const placeOf = (request: FastifyRequest, name: string): Place => ({
    tenancy: tenancyOf({ kind: "account", account: principalOf(request).account }),
    name,
  });

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
      const found = await storage.list("strong", KIND.type, placeOf(request, "").tenancy, "");
      const sets = found
        .map((one) => decodeRecord(KIND, one))
        .filter((set) => project === undefined || isSetForProject(set, project));
      const shown = await shownAccountSets(storage, principal, sets);
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
      const place = placeOf(request, name);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `the account has a variable set "${name}"`);
        }
        const detail = `an account has at most ${MAX_SETS} variable sets`;
        const { tenancy } = place;
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_SETS, detail });
        const at = BigInt(tx.nowMs);
        const times = { createdAtMs: at, updatedAtMs: at };
        const made = AccountVariableSet.create({ name, ...accountSetChangeOf(settings), ...times });
        tx.create(KIND, place, made);
        return { message: made, generation: tx.generation };
      });
      reply.headers({ location: `/api/v1${SETS}/${name}`, etag: etagOf(generation) });
      return reply.code(201).send(accountSetViewOf(message));
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
      const found = await readStored(storage, "strong", idOf(KIND, placeOf(request, name)));
      const sets = found === undefined ? [] : [decodeRecord(KIND, found)];
      const [set] = await shownAccountSets(storage, principal, sets);
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
      const place = placeOf(request, request.params.set);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, place);
        requireMatch(request, row.resource.generation);
        tx.update(row, { ...accountSetChangeOf(request.body), updatedAtMs: BigInt(tx.nowMs) });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return accountSetViewOf(message);
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
      const place = placeOf(request, request.params.set);
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
      const { category, key, set } = request.params;
      const place = placeOf(request, set);
      if (category === "env") requireEnvironmentValues({ [key]: request.body.value });
      const secret = accountSetSecret(principalOf(request), set, category, key);
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
        "Delete a variable of a set of the account; If-Match names the entity tag of the set",
        "DeleteAccountSetVariable",
        { 204: Type.Null() },
        { params: SetVariableParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const place = placeOf(request, request.params.set);
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

async function findSet(tx: Transaction, place: Place): Promise<StoredRow<AccountVariableSet>> {
  const row = await tx.find(KIND, place);
  if (row === undefined) throw noSet(place.name);
  return row;
}
