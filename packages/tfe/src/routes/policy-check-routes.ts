import type { FastifyInstance, FastifyRequest } from "fastify";
import { TfeError } from "../errors.ts";
import { one } from "../json-api/document.ts";
import type { TfeCaller } from "../port/caller.ts";
import type { RunPort, TfePolicyCheck, TfeRun } from "../port/run-port.ts";
import { requireOperator, send } from "./route-context.ts";
import { policyCheckId } from "./run-resource.ts";

interface PolicyCheckParts {
  readonly runs: RunPort;
  readonly callerOf: (request: FastifyRequest) => TfeCaller;
  /** The run that the id of a policy check names; `TFE_NOT_FOUND` where there is none. */
  readonly runOf: (request: FastifyRequest, id: string) => Promise<TfeRun>;
}

type OfCheck = { Params: { readonly check: string } };

/** What policies said about the plan of a run, as the one policy check that it has, and the permission to pass them. */
export function policyCheckRoutes(fastify: FastifyInstance, parts: PolicyCheckParts): void {
  const { runs, callerOf, runOf } = parts;
  const found = async (
    request: FastifyRequest<OfCheck>,
  ): Promise<{ readonly run: TfeRun; readonly check: TfePolicyCheck }> => {
    const run = await runOf(request, request.params.check);
    if (run.policyCheck === undefined) throw new TfeError("TFE_NOT_FOUND");
    return { run, check: run.policyCheck };
  };

  fastify.get<OfCheck>("/policy-checks/:check", async (request, reply) => {
    const { run, check } = await found(request);
    return send(reply, one(resourceOf(run, check)));
  });

  fastify.get<OfCheck>("/policy-checks/:check/output", async (request, reply) => {
    const { check } = await found(request);
    return reply.type("text/plain; charset=utf-8").send(check.text);
  });

  fastify.post<OfCheck>("/policy-checks/:check/actions/override", async (request, reply) => {
    const caller = callerOf(request);
    requireOperator(caller);
    const { run, check } = await found(request);
    if (check.status !== "soft_failed") {
      throw new TfeError("TFE_CONFLICT", "the policies of the run need no override, or allow none");
    }
    await runs.overridePolicies(caller, run);
    const after = await found(request);
    return send(reply, one(resourceOf(after.run, after.check)));
  });
}

function resourceOf(run: TfeRun, { status, isOpen, canOverride }: TfePolicyCheck) {
  return {
    id: policyCheckId(run),
    type: "policy-checks",
    attributes: {
      status,
      scope: "workspace",
      // Commands read all of these without a check.
      actions: { "is-overridable": isOpen },
      permissions: { "can-override": canOverride },
    },
  };
}
