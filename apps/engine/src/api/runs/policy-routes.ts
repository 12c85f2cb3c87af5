import type { PolicyResult } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { advanceSetOf } from "../../plan-set/advance-open-sets.ts";
import { enforcementName } from "../../policy/policy-places.ts";
import { blockOf, outcomeName } from "../../policy/policy-verdict.ts";
import { overridePolicies } from "../../queue/override-policies.ts";
import { idOf } from "../../queue/transaction.ts";
import { type ApiParts, Digest, RunParams, routeSchema, stackOf } from "../api-parts.ts";
import { requireApiRole } from "../api-roles.ts";
import { Enforcement, findingViewOf, VerdictView } from "../policy-sets/policy-set-view.ts";
import { RunSchema, runViewOf, timeOf } from "./run-view.ts";

const RUN = "/projects/:project/stacks/:stack/runs/:run";

const ResultView = Type.Object(
  {
    plan_digest: Type.Optional(Type.String({ description: "absent without policies" })),
    input_digest: Type.Optional(
      Type.String({ description: "SHA-256 of the document that the policies were given" }),
    ),
    block: Type.Union(
      [Type.Literal("none"), Type.Literal("overridable"), Type.Literal("forbidden")],
      { description: "what the policies mean for the run" },
    ),
    sets: Type.Array(
      Type.Object(
        {
          set: Type.String(),
          version: Type.String(),
          enforcement: Enforcement,
          override_role: Type.String(),
          ...VerdictView.properties,
        },
        { title: "PolicySetResult" },
      ),
    ),
    override: Type.Optional(
      Type.Object({ actor: Type.String(), reason: Type.String(), at: Type.String() }),
    ),
  },
  { title: "PolicyResults" },
);
const NewOverride = Type.Object(
  { plan_digest: Digest, reason: Type.String({ minLength: 1, maxLength: 1024 }) },
  { additionalProperties: false, title: "NewPolicyOverride" },
);

type InRun = { Params: Static<typeof RunParams> };

/** What policies said about the plan of a run, and the permission to pass them. */
export function policyRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const referenceOf = async (request: FastifyRequest<InRun>): Promise<RunReference> => {
    const { reference } = await stackOf(parts, principalOf(request), request.params);
    return { stack: reference, run: request.params.run };
  };
  const readRun = async (reference: RunReference) => {
    const found = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
    if (found === undefined) throw new ServerError("not_found", `there is no run ${reference.run}`);
    return decodeRecord(RUN_KIND, found);
  };

  fastify.get<InRun>(
    `${RUN}/policy-results`,
    {
      schema: routeSchema(
        "Show what policies said about the plan of a run",
        "ShowPolicyResults",
        { 200: ResultView },
        { params: RunParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const reference = await referenceOf(request);
      const { planDigest } = await readRun(reference);
      const id = idOf(SERVER_KINDS.policyResult, runPlace(reference));
      const found = await readStored(storage, "strong", id);
      const result = found && decodeRecord(SERVER_KINDS.policyResult, found);
      if (result === undefined || result.planDigest !== planDigest) {
        return { block: "none" as const, sets: [] };
      }
      return resultViewOf(result);
    },
  );

  fastify.post<InRun & { Body: Static<typeof NewOverride> }>(
    `${RUN}/policy-override`,
    {
      schema: routeSchema(
        "Let the plan of a run pass although overridable policies forbid it",
        "OverridePolicies",
        { 200: RunSchema },
        { params: RunParams, body: NewOverride },
        {
          409: "the run does not wait for this, or has another plan",
          410: "the time for the approval is over",
        },
      ),
      // Each set names the role that may do so.
      config: { access: "operator" },
    },
    async (request) => {
      const reference = await referenceOf(request);
      const principal = principalOf(request);
      const { reason, plan_digest: planDigest } = request.body;
      await overridePolicies(parts.audited(request), reference, {
        actor: principal.actor,
        reason,
        planDigest,
        requireRole: (role) => requireApiRole(principal, role),
      });
      await advanceSetOf(parts, reference);
      return runViewOf(await readRun(reference));
    },
  );
}

function resultViewOf(result: PolicyResult): Static<typeof ResultView> {
  const { planDigest, inputDigest, sets, override } = result;
  return {
    plan_digest: planDigest,
    ...(inputDigest !== "" && { input_digest: inputDigest }),
    block: blockOf(result),
    sets: sets.map((one) => ({
      set: one.set,
      version: one.version,
      enforcement: enforcementName(one.enforcement),
      override_role: one.overrideRole === "" ? "admin" : one.overrideRole,
      outcome: outcomeName(one),
      findings: one.findings.map(findingViewOf),
      cut: one.cut,
      ...(one.error !== "" && { error: one.error }),
    })),
    ...(override !== undefined && {
      override: { actor: override.actor, reason: override.reason, at: timeOf(override.atMs) },
    }),
  };
}
