import type { FormerState, StackName } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { workerPrefix } from "../../domain/worker-prefix.ts";
import { appendBatch } from "../../queue/append-batch.ts";
import type { RunClaim } from "../../queue/claim.ts";
import { listTickets } from "../../queue/sweep.ts";
import { executionsOf } from "../../worker/orphan-sweep.ts";
import { MAX_EVENT_BYTES, WORKER_PROTOCOL } from "../../worker/remote-protocol.ts";
import {
  beginPlanningOnce,
  cancelStageOf,
  endClaim,
  startClaim,
} from "../../worker/remote-requests.ts";
import { type StoredClaimParts, storedClaimHost } from "../../worker/stored-claim-host.ts";
import { waitForClaim } from "../../worker/wait-for-claim.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { callerGone } from "../end-of-request.ts";
import { timeOf } from "../runs/run-view.ts";
import {
  Applying,
  Claim,
  ClaimEnd,
  ClaimStatus,
  EventBatch,
  Executions,
  executionEndOf,
  IdentityTokens,
  Job,
  NewClaim,
  OfferedSchema,
  Orphans,
  OtherStackAnswer,
  OtherStackName,
  OWN_EVENTS,
  RegistryAnswer,
  RegistryQuery,
  SchemaTaken,
  WorkerEndpoint,
  WrittenState,
} from "./claim-schemas.ts";

const ClaimParams = Type.Object({ run: Type.String({ pattern: "^[0-9A-Za-z_.-]{1,128}$" }) });
type OfClaim = { Params: Static<typeof ClaimParams> };
const CLAIM = "/worker/claims/:run";
const LOST = { 409: "another worker has the claim" };

/** `/worker`: what workers on other machines ask of a server. */
export function workerRoutes(fastify: FastifyInstance, api: ApiParts): void {
  const { stopping, principalOf, claimOf, workers } = api;
  const parts: StoredClaimParts & Pick<typeof workers, "tickets"> = { ...api, ...workers };

  fastify.get(
    "/worker",
    {
      schema: routeSchema(
        "Where the storage service of the server is, for a worker",
        "ShowWorkerEndpoint",
        { 200: WorkerEndpoint },
        {},
        { 409: "the server has no storage service" },
      ),
      config: { access: "worker" },
    },
    async (request) => {
      const endpoint = workers.storageEndpoint();
      if (endpoint === undefined) {
        throw new ServerError(
          "conflict",
          "the server has no storage service, which workers need; start it with --storage-port",
        );
      }
      return {
        protocol: WORKER_PROTOCOL,
        storage_port: endpoint.port,
        storage_tls: endpoint.tls,
        worker_prefix: workerPrefix(principalOf(request)),
      };
    },
  );

  fastify.post<{ Body: Static<typeof NewClaim> }>(
    "/worker/claims",
    {
      schema: routeSchema(
        "Claim the next step of a run for a worker, and wait for one",
        "ClaimStep",
        { 200: Claim, 204: Type.Null() },
        { body: NewClaim },
        { 409: "the worker has no lease, or is of another release" },
      ),
      config: { access: "worker" },
    },
    async (request, reply) => {
      const { body } = request;
      requireProtocol(body.protocol, (protocol) =>
        api.server.refusedWorkers?.note(principalOf(request).actor, protocol),
      );
      if (body.request === undefined) {
        throw new ServerError("invalid_request", "the body has no number of the request");
      }
      const asked = { ...body, request: body.request };
      const given = await waitForClaim(parts, principalOf(request), asked, {
        gone: callerGone(reply),
        stopping,
        authorizeAgain: async () => api.authorizeAgain(request),
      });
      return given === undefined
        ? reply.code(204).send()
        : reply.send(viewOf(given.claim, given.token));
    },
  );

  fastify.post<{ Body: Static<typeof Executions> }>(
    "/worker/orphans",
    {
      schema: routeSchema(
        "Which of some executions have no claim, so that their worker ends them",
        "FindOrphans",
        { 200: Orphans },
        { body: Executions },
      ),
      config: { access: "worker" },
    },
    async (request) => {
      // Of all projects: an execution of one that the token does not see is no orphan either.
      const claimed = executionsOf(await listTickets(parts));
      return { orphans: request.body.executions.filter((name) => !claimed.has(name)) };
    },
  );

  fastify.get<OfClaim>(
    CLAIM,
    {
      schema: routeSchema(
        "Whether a claim is valid, and whether its run is canceled",
        "ShowClaim",
        { 200: ClaimStatus },
        { params: ClaimParams },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request) => {
      return { cancel_stage: await cancelStageOf(parts, ofClaim(request)) };
    },
  );

  fastify.post<OfClaim>(
    `${CLAIM}/start`,
    {
      schema: routeSchema(
        "Get what has to be done for a claim, with the data keys of its stack",
        "StartClaim",
        { 200: Job },
        { params: ClaimParams },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request) => {
      const job = await startClaim(parts, ofClaim(request));
      return { protocol: WORKER_PROTOCOL, job: { ...job } };
    },
  );

  fastify.post<OfClaim>(
    `${CLAIM}/planning`,
    {
      schema: routeSchema(
        "The run of a claim is being planned",
        "BeginPlanning",
        { 204: Type.Null() },
        { params: ClaimParams },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request, reply) => {
      await beginPlanningOnce(parts, ofClaim(request));
      return reply.code(204).send();
    },
  );

  fastify.post<OfClaim & { Body: Static<typeof Applying> }>(
    `${CLAIM}/applying`,
    {
      schema: routeSchema(
        "The run of a claim is being applied, under the fence of its stack",
        "BeginApply",
        { 204: Type.Null() },
        { params: ClaimParams, body: Applying },
        { ...LOST, 422: "the stack takes no more runs" },
      ),
      config: { access: "run" },
    },
    async (request, reply) => {
      const host = storedClaimHost(parts, ofClaim(request));
      try {
        await host.beginApply(BigInt(request.body.epoch));
      } catch (error) {
        if (!isEngineError(error, "ENGINE_STATE_NOT_ADOPTED")) throw error;
        throw new ServerError("unprocessable", error.message, { cause: error });
      }
      return reply.code(204).send();
    },
  );

  fastify.post<OfClaim & { Body: Static<typeof OtherStackName> }>(
    `${CLAIM}/read-stack`,
    {
      schema: routeSchema(
        "Get the outputs of another stack, for the run of a claim",
        "ReadOtherStack",
        { 200: OtherStackAnswer },
        { params: ClaimParams, body: OtherStackName },
        { ...LOST, 422: "the run is not allowed to read the outputs, or they are not available" },
      ),
      config: { access: "run" },
    },
    async (request) => {
      try {
        const found = await storedClaimHost(parts, ofClaim(request)).readOtherStack(
          otherStackOf(request.body),
        );
        return { ...(found !== undefined && { found: { ...found, outputs: [...found.outputs] } }) };
      } catch (error) {
        if (!isEngineError(error)) throw error;
        throw new ServerError("unprocessable", error.message, { cause: error });
      }
    },
  );

  fastify.post<OfClaim>(
    `${CLAIM}/identity`,
    {
      schema: routeSchema(
        "Get tokens of the run of a claim, for the audiences that the variables of its stack name",
        "IssueRunIdentity",
        { 200: IdentityTokens },
        { params: ClaimParams },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request) => {
      const tokens = await storedClaimHost(parts, ofClaim(request)).identityTokens();
      return {
        tokens: tokens.map(({ tag, token, expiresAtMs }) => ({
          tag,
          token,
          expires_at: timeOf(BigInt(expiresAtMs)),
        })),
      };
    },
  );

  fastify.post<OfClaim & { Body: Static<typeof RegistryQuery> }>(
    `${CLAIM}/registry`,
    {
      schema: routeSchema(
        "Get the versions of a private module of the account, the function of a private provider, the versions or a package of a published provider, or whether versions of providers may still be used, for the run of a claim",
        "ReadRegistry",
        { 200: RegistryAnswer },
        { params: ClaimParams, body: RegistryQuery },
        { ...LOST, 422: "the private provider is not available" },
      ),
      config: { access: "run" },
    },
    async (request) => {
      try {
        const host = storedClaimHost(parts, ofClaim(request));
        const { versions, withdrawn, provider, published, standing, ...found } =
          await host.readRegistry(request.body);
        return {
          versions: [...versions],
          withdrawn: [...withdrawn],
          ...(provider !== undefined && { provider: { ...provider } }),
          ...(published !== undefined && {
            published: published.map(({ version, protocols }) => ({
              version,
              protocols: [...protocols],
            })),
          }),
          ...(standing !== undefined && { standing: standing.map((one) => ({ ...one })) }),
          ...(found.package !== undefined && {
            package: {
              ...found.package,
              protocols: [...found.package.protocols],
              signingKeys: [...found.package.signingKeys],
            },
          }),
        };
      } catch (error) {
        if (!isEngineError(error)) throw error;
        throw new ServerError("unprocessable", error.message, { cause: error });
      }
    },
  );

  fastify.post<OfClaim & { Body: Static<typeof WrittenState> }>(
    `${CLAIM}/state`,
    {
      schema: routeSchema(
        "A tool that applies the run of a claim has written a state, whose content is stored",
        "RecordState",
        { 204: Type.Null() },
        { params: ClaimParams, body: WrittenState },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request, reply) => {
      await storedClaimHost(parts, ofClaim(request)).recordState(request.body);
      return reply.code(204).send();
    },
  );

  fastify.post<OfClaim & { Body: Static<typeof OfferedSchema> }>(
    `${CLAIM}/schemas`,
    {
      schema: routeSchema(
        "The plan of a claim has the schema of an upstream provider: ask whether it is wanted, or say where it is stored",
        "HandInSchema",
        { 200: SchemaTaken },
        { params: ClaimParams, body: OfferedSchema },
        { ...LOST, 422: "the blob does not have the schema" },
      ),
      config: { access: "run" },
    },
    async (request) => ({
      answer: await storedClaimHost(parts, ofClaim(request)).handInSchema(request.body),
    }),
  );

  fastify.post<OfClaim & { Body: Static<typeof EventBatch> }>(
    `${CLAIM}/events`,
    {
      schema: routeSchema(
        "Append a numbered batch of events to the log of a run; a repeated batch is stored once",
        "AppendEvents",
        { 204: Type.Null() },
        { params: ClaimParams, body: EventBatch },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request, reply) => {
      const { batch, events } = request.body;
      if (Buffer.byteLength(JSON.stringify(events)) > MAX_EVENT_BYTES) {
        throw new ServerError("invalid_request", `a batch has at most ${MAX_EVENT_BYTES} bytes`);
      }
      const own = events.find(({ event }) => OWN_EVENTS.has(event.type));
      if (own !== undefined) {
        throw new ServerError("invalid_request", `the server alone writes "${own.event.type}"`);
      }
      await appendBatch(parts, ofClaim(request), batch, events);
      return reply.code(204).send();
    },
  );

  fastify.post<OfClaim & { Body: Static<typeof ClaimEnd> }>(
    `${CLAIM}/end`,
    {
      schema: routeSchema(
        "Say how the execution of a claim ended, or give the claim back",
        "EndClaim",
        { 204: Type.Null() },
        { params: ClaimParams, body: ClaimEnd },
        LOST,
      ),
      config: { access: "run" },
    },
    async (request, reply) => {
      const { end, given_up: reason, ...how } = request.body;
      if ((end === undefined) === (reason === undefined)) {
        throw new ServerError("invalid_request", "the body has either end or given_up");
      }
      const ended = end === undefined ? { givenUp: reason ?? "" } : { end: executionEndOf(end) };
      await endClaim(parts, ofClaim(request), { ...how, ...ended });
      return reply.code(204).send();
    },
  );

  /** The claim of the token of a request. `not_found` for that of another run. */
  function ofClaim(request: FastifyRequest<OfClaim>): RunClaim {
    const claim = claimOf(request);
    if (claim.reference.run === request.params.run) return claim;
    throw new ServerError("not_found", `there is no run "${request.params.run}"`);
  }
}

/** A worker of another release could not execute what it claims, and each claim would count as an attempt that was lost. */
function requireProtocol(protocol = 3, refused: (protocol: number) => void): void {
  if (protocol === WORKER_PROTOCOL) return;
  refused(protocol);
  throw new ServerError(
    "conflict",
    `the worker speaks version ${protocol} with servers, and this server version ${WORKER_PROTOCOL}: install the same release`,
  );
}

function viewOf(
  { reference, step, attempts, background, cancelStage, traceParent }: RunClaim,
  token: string,
) {
  const { stack, run } = reference;
  return {
    protocol: WORKER_PROTOCOL,
    ...stack,
    run,
    step,
    attempts,
    background,
    cancel_stage: cancelStage,
    token,
    ...(traceParent !== "" && { trace_parent: traceParent }),
  };
}

/** The one stack that a request asks for. */
function otherStackOf({
  stack,
  project,
  lineage,
  placeDigest,
}: Static<typeof OtherStackName>): StackName | FormerState {
  if (stack !== undefined) return { stack, ...(project !== undefined && { project }) };
  if (lineage !== undefined) return { lineage };
  if (placeDigest !== undefined) return { placeDigest };
  throw new ServerError("invalid_request", "the body names no stack, lineage or place");
}
