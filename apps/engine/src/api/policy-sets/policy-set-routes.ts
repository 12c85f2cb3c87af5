import {
  PolicySet,
  PolicySet_Enforcement,
  type PolicyVersion,
  Run,
} from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { judgeInput } from "../../policy/judge-plan.ts";
import { policyInput } from "../../policy/policy-input.ts";
import { MAX_ENTRYPOINTS, MAX_POLICY_BYTES } from "../../policy/policy-limits.ts";
import { policySetPlace } from "../../policy/policy-places.ts";
import { outcomeName } from "../../policy/policy-verdict.ts";
import { replayPolicy } from "../../policy/replay-policy.ts";
import { storePolicy } from "../../policy/store-policy.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../../queue/transaction.ts";
import { timedUpload, uploadSignal } from "../../timed-upload.ts";
import { readRunSecrets } from "../../worker/run-secrets.ts";
import { AccountPlaces } from "../account-places.ts";
import {
  type ApiParts,
  etagOf,
  MatchHeader,
  ProjectName,
  requireMatch,
  routeSchema,
  StackNameSchema,
} from "../api-parts.ts";
import { seesProject } from "../authorize.ts";
import { endOfRequest } from "../end-of-request.ts";
import { isShownTo, shownTo } from "../project-patterns.ts";
import {
  findingViewOf,
  NewPolicySet,
  OutcomeView,
  PolicySetName,
  PolicySetSettings,
  PolicySetView,
  policySetChangeOf,
  policySetViewOf,
  VerdictView,
} from "./policy-set-view.ts";

const SetParams = Type.Object({ policy_set: PolicySetName });
type InSet = { Params: Static<typeof SetParams> };
const SETS = "/policy-sets";
const SET = `${SETS}/:policy_set`;
const KIND = SERVER_KINDS.policySet;
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };

/** Sets of an account, and versions of one: older ones are removed. */
const MAX_SETS = 50;
const MAX_VERSIONS = 20;
/** Bytes of a plan that a set is tried with. */
const MAX_PLAN_BYTES = 16 * 1024 * 1024;

/** A rule or a package, by its path. */
const ENTRYPOINT = /^[A-Za-z_][A-Za-z0-9_]{0,63}(?:\/[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$/;
const UploadQuery = Type.Object(
  {
    entrypoint: Type.Optional(
      Type.String({
        maxLength: 2_000,
        description:
          "rules or packages that judge plans, separated by commas; by default all of the module",
      }),
    ),
    activate: Type.Optional(
      Type.Union([Type.Literal("true"), Type.Literal("false")], {
        description: "false: the former version continues to judge plans",
      }),
    ),
  },
  { additionalProperties: false },
);
const VersionQuery = Type.Optional(
  Type.String({
    pattern: "^[0-9a-f]{64}$",
    description: "digest of a version; the active one by default",
  }),
);
const TestQuery = Type.Object(
  {
    project: Type.Optional(ProjectName),
    stack: Type.Optional(StackNameSchema),
    version: VersionQuery,
  },
  { additionalProperties: false },
);
const Replay = Type.Object(
  {
    runs: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "50 by default" })),
    version: VersionQuery,
  },
  { additionalProperties: false, title: "PolicyReplay" },
);
const ReplayView = Type.Object(
  {
    runs: Type.Array(
      Type.Object(
        {
          project: Type.String(),
          stack: Type.String(),
          run: Type.String(),
          before: Type.Optional(OutcomeView),
          ...VerdictView.properties,
        },
        { title: "ReplayedRun" },
      ),
    ),
    complete: Type.Boolean({
      description:
        "false: it ended after two minutes, or the account has older runs than those that were read",
    }),
  },
  { title: "PolicyReplayResult" },
);

/** `/policy-sets`: the policies of an account, which administrators of all of its projects write. */
export function policySetRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, clock, principalOf } = parts;
  const places = new AccountPlaces({ all: 4, account: 2 });

  const placeOf = (request: FastifyRequest<InSet>) =>
    policySetPlace(principalOf(request).account, request.params.policy_set);
  const listSets = async ({ account }: Principal) =>
    (await storage.list("strong", KIND.type, policySetPlace(account, "").tenancy, "")).map((one) =>
      decodeRecord(KIND, one),
    );
  const readSet = async (request: FastifyRequest<InSet>) => {
    const found = await readStored(storage, "strong", idOf(KIND, placeOf(request)));
    const set = found && decodeRecord(KIND, found);
    if (found === undefined || set === undefined || !isShownTo(principalOf(request), set)) {
      throw noSet(request.params.policy_set);
    }
    return { set, generation: found.generation };
  };
  const findSet = async (
    tx: Transaction,
    request: FastifyRequest<InSet>,
  ): Promise<StoredRow<PolicySet>> => {
    const row = await tx.find(KIND, placeOf(request));
    if (row === undefined) throw noSet(request.params.policy_set);
    return row;
  };
  const readUpload = async (request: FastifyRequest, maxBytes: number, what: string) => {
    const signal = uploadSignal(request.raw);
    const chunks: Uint8Array[] = [];
    for await (const chunk of timedUpload(parts.uploadOf(request), {
      clock,
      signal,
      maxBytes,
      what,
    })) {
      chunks.push(chunk);
    }
    return Uint8Array.from(Buffer.concat(chunks));
  };

  fastify.get(
    SETS,
    {
      schema: routeSchema("List the policy sets of the account", "ListPolicySets", {
        200: Type.Object({ sets: Type.Array(PolicySetView) }),
      }),
      config: { access: "viewer" },
    },
    async (request) => {
      const principal = principalOf(request);
      const sets = (await listSets(principal)).filter((set) => isShownTo(principal, set));
      const inOrder = sets.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return { sets: inOrder.map((set) => policySetViewOf(shownTo(principal, set))) };
    },
  );

  fastify.post<{ Body: Static<typeof NewPolicySet> }>(
    SETS,
    {
      schema: routeSchema(
        "Create a policy set; it judges plans once a version is uploaded",
        "CreatePolicySet",
        { 201: PolicySetView },
        { body: NewPolicySet },
        { 409: "the name is in use", 422: "the account has too many sets" },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { account } = principalOf(request);
      const { name, ...settings } = request.body;
      const place = policySetPlace(account, name);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        if ((await tx.find(KIND, place)) !== undefined) {
          throw new ServerError("name_taken", `the account has a policy set "${name}"`);
        }
        const detail = `an account has at most ${MAX_SETS} policy sets`;
        const { tenancy } = place;
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_SETS, detail });
        const at = BigInt(tx.nowMs);
        const made = PolicySet.create({
          name,
          enforcement: PolicySet_Enforcement.ENFORCEMENT_MANDATORY,
          ...policySetChangeOf(settings),
          createdAtMs: at,
          updatedAtMs: at,
        });
        tx.create(KIND, place, made);
        return { message: made, generation: tx.generation };
      });
      reply.headers({ location: `/api/v1${SETS}/${name}`, etag: etagOf(generation) });
      return reply.code(201).send(policySetViewOf(message));
    },
  );

  fastify.get<InSet>(
    SET,
    {
      schema: routeSchema(
        "Show a policy set; its entity tag is what If-Match takes",
        "ShowPolicySet",
        { 200: PolicySetView },
        { params: SetParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { set, generation } = await readSet(request);
      reply.header("etag", etagOf(generation));
      return policySetViewOf(shownTo(principalOf(request), set));
    },
  );

  fastify.patch<InSet & { Body: Static<typeof PolicySetSettings> }>(
    SET,
    {
      schema: routeSchema(
        "Change what a policy set is for, what its failures do, or which version judges plans",
        "ChangePolicySet",
        { 200: PolicySetView },
        { params: SetParams, body: PolicySetSettings, headers: MatchHeader },
        { ...CHANGED, 422: "the set has no such version" },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, request);
        requireMatch(request, row.resource.generation);
        const change = policySetChangeOf(request.body);
        if (change.version !== undefined) versionOf(row.message, change.version);
        tx.update(row, { ...change, updatedAtMs: BigInt(tx.nowMs) });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return policySetViewOf(message);
    },
  );

  fastify.delete<InSet>(
    SET,
    {
      schema: routeSchema(
        "Delete a policy set; what it said about plans stays with their runs",
        "DeletePolicySet",
        { 204: Type.Null() },
        { params: SetParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, request);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );

  fastify.put<InSet & { Querystring: Static<typeof UploadQuery> }>(
    `${SET}/content`,
    {
      schema: routeSchema(
        "Upload the policies of a set: a WebAssembly module, a bundle of opa build, or a source in Rego",
        "UploadPolicies",
        { 200: PolicySetView },
        { params: SetParams, querystring: UploadQuery, "x-body": "application/octet-stream" },
        { 413: "too large", 422: "the content has no policies" },
      ),
      config: { access: "account-admin", upload: true },
    },
    async (request, reply) => {
      const { account, actor } = principalOf(request);
      await readSet(request);
      using _place = places.take(account);
      const { entrypoint = "", activate = "true" } = request.query;
      const entrypoints = readEntrypoints(entrypoint);
      const content = await readUpload(request, MAX_POLICY_BYTES, "the content of a policy set");
      const atMs = Math.floor(clock.wallMs());
      const version = await storePolicy(parts, content, { account, actor, atMs, entrypoints });
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const row = await findSet(tx, request);
        const { versions, version: former } = row.message;
        const active = activate === "true" ? version.digest : former;
        const others = versions.filter(({ digest }) => digest !== version.digest);
        const kept = others.filter(
          ({ digest }, at) => digest === active || at >= others.length - (MAX_VERSIONS - 2),
        );
        tx.update(row, {
          versions: [...kept, version],
          version: active,
          updatedAtMs: BigInt(tx.nowMs),
        });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return policySetViewOf(message);
    },
  );

  fastify.post<InSet & { Querystring: Static<typeof TestQuery> }>(
    `${SET}/test`,
    {
      schema: routeSchema(
        "Let a policy set judge a plan, in the form of terraform show -json, without any effect",
        "TestPolicies",
        { 200: VerdictView },
        { params: SetParams, querystring: TestQuery, "x-body": "application/json" },
        { 413: "too large", 422: "the set has no version, or the body is not JSON" },
      ),
      config: { access: "operator", upload: true },
    },
    async (request) => {
      const { set } = await readSet(request);
      const { account, actor } = principalOf(request);
      using _place = places.take(account);
      const { project = "test", stack = "test", version: digest } = request.query;
      const version = versionOf(set, digest ?? set.version);
      const plan = await readUpload(request, MAX_PLAN_BYTES, "a plan");
      const run = Run.create({ id: "test", actor, cause: "test" });
      const input = policyInput(readPlan(plan), { project, stackName: stack, run });
      return verdictViewOf(await judgeInput(parts, version, input));
    },
  );

  fastify.post<InSet & { Body: Static<typeof Replay> }>(
    `${SET}/replay`,
    {
      schema: routeSchema(
        "Let a policy set judge the newest stored plans of its stacks, without any effect",
        "ReplayPolicies",
        { 200: ReplayView },
        { params: SetParams, body: Replay },
        { 422: "the set has no such version" },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const { set } = await readSet(request);
      const principal = principalOf(request);
      const { account } = principal;
      using _place = places.take(account);
      const { runs: limit = 50, version: digest } = request.body;
      const signal = endOfRequest(reply, parts.stopping);
      const { runs: replayed, isComplete } = await replayPolicy(parts, {
        account,
        set,
        version: versionOf(set, digest ?? set.version),
        limit,
        sees: (project) => seesProject(principal, project),
        secretsOf: async (stack, name) => readRunSecrets(parts, stack, name),
        signal,
      });
      return {
        runs: replayed.map(({ project, stackName, run, verdict, before }) => ({
          project,
          stack: stackName,
          run,
          ...(before !== undefined && { before }),
          ...verdictViewOf(verdict),
        })),
        complete: isComplete,
      };
    },
  );
}

function versionOf(set: PolicySet, digest: string): PolicyVersion {
  const found = set.versions.find((one) => one.digest === digest);
  if (found !== undefined) return found;
  throw new ServerError(
    "unprocessable",
    digest === ""
      ? `the policy set "${set.name}" has no active version; upload one`
      : `the policy set "${set.name}" has no version ${digest}`,
  );
}

function noSet(name: string): ServerError {
  return new ServerError("not_found", `there is no policy set "${name}"`);
}

function readEntrypoints(given: string): readonly string[] {
  const all = given === "" ? [] : given.split(",");
  if (!all.every((one) => ENTRYPOINT.test(one)) || all.length > MAX_ENTRYPOINTS) {
    throw new ServerError(
      "invalid_request",
      `entrypoint names at most ${MAX_ENTRYPOINTS} rules or packages such as stackwright/deny, separated by commas`,
    );
  }
  return all;
}

/** A plan as it was sent, which is a part of the input document. */
function readPlan(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const plan: unknown = JSON.parse(text);
    if (typeof plan === "object" && plan !== null) return text;
  } catch (cause) {
    throw new ServerError("unprocessable", "the body is not the JSON of a plan", { cause });
  }
  throw new ServerError("unprocessable", "the body is not a plan: it has to be a JSON object");
}

function verdictViewOf({
  outcome,
  findings,
  cut,
  error,
}: Parameters<typeof outcomeName>[0] & {
  readonly findings: readonly Parameters<typeof findingViewOf>[0][];
  readonly cut: number;
  readonly error: string;
}): Static<typeof VerdictView> {
  return {
    outcome: outcomeName({ outcome }),
    findings: findings.map(findingViewOf),
    cut,
    ...(error !== "" && { error }),
  };
}
