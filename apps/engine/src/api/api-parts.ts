import { createHash } from "node:crypto";
import type { RateLimit } from "@stackwright/base/limiter";
import { type NamedStack, StackDirectory, type StoredKeys } from "@stackwright/core";
import type { Authenticator, CredentialStore, Principal } from "@stackwright/registry";
import { checkProject, isStorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { FastifyRequest, FastifySchema } from "fastify";
import { type TSchema, Type } from "typebox";
import type { AccessDirectory } from "../access/access-directory.ts";
import type { LoginSessions } from "../access/login-sessions.ts";
import type { AuditTrail } from "../access/registry-audit.ts";
import type { ServerFacts } from "../doctor/server-facts.ts";
import type { FindSchemaChanges } from "../domain/find-schema-changes.ts";
import { SERVER_ERRORS, ServerError, type ServerErrorCode } from "../domain/server-error.ts";
import type { LiveView } from "../live/live-view.ts";
import type { LogBell } from "../logs/log-bell.ts";
import type { NotificationParts } from "../notify/notification-parts.ts";
import type { PolicyRunner } from "../policy/policy-runner.ts";
import type { RunClaim } from "../queue/claim.ts";
import type { StuckBounds } from "../queue/stuck-steps.ts";
import type { TicketBoard } from "../queue/ticket-board.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import type { UpstreamMirror } from "../upstream/upstream-mirror.ts";
import type { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";
import type { OfferedTool } from "../worker/offered-tools.ts";
import type { StoredClaimParts } from "../worker/stored-claim-host.ts";
import type { StreamObserver } from "./event-streams.ts";
import type { IdempotencyKeys } from "./idempotency/answer-keeper.ts";
import type { KeptAnswer } from "./idempotency/request-once.ts";

export interface ApiOptions extends TransactionParts {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  readonly authenticator: Authenticator;
  /** Users, teams and roles. */
  readonly access: AccessDirectory;
  readonly credentials: CredentialStore;
  readonly sessions: LoginSessions;
  /** Is informed of the streams of events that are open. @default nothing is */
  readonly streamObserver?: StreamObserver | undefined;
  /** Where changes and refusals are noted. */
  readonly audit: AuditTrail;
  /** Providers of upstream registries. */
  readonly upstream: UpstreamMirror;
  /** Compares the schemas of versions of private providers. @default this server calls no functions */
  readonly schemaChanges?: FindSchemaChanges | undefined;
  readonly bell: LogBell;
  readonly live: LiveView;
  /** Requests per credential. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Ends streams when the server stops. */
  readonly stopping: AbortSignal;
  /** What workers on other machines are given. */
  readonly workers: WorkerRouteParts;
  /** Folders of this machine whose Git repositories may be connected. */
  readonly localFolders: readonly string[];
  /** Evaluates policies. */
  readonly policies: PolicyRunner;
  /** Compiles policies written in Rego; empty for none. */
  readonly opaCommand: readonly string[];
  /** Hosts that connections may reach. */
  readonly hosts: OutgoingHosts;
  /** How destinations of notifications are reached. */
  readonly notifications: Pick<NotificationParts, "logger" | "hosts" | "origin">;
  /** Encrypts the secrets of audit webhooks, the same in all servers of the store. */
  readonly auditWebhookKey: () => Promise<Uint8Array>;
  /** With what the records of requests with an idempotency key are made. */
  readonly idempotencyKeys: IdempotencyKeys;
  /** Programs that the worker of this server executes instead of the engine. */
  readonly tools: readonly OfferedTool[];
  /** What this server says of itself to those who operate it. */
  readonly server: ServerFacts;
  /** From when on steps count as stuck. */
  readonly stuck: StuckBounds;
}

/** What the routes of remote workers work with, beyond what all routes have. */
interface WorkerRouteParts
  extends Pick<
    StoredClaimParts,
    | "logger"
    | "ownHosts"
    | "modules"
    | "publishedProviders"
    | "findStanding"
    | "findProvider"
    | "provisionerProjects"
    | "stackOf"
    | "identity"
    | "served"
    | "servers"
  > {
  readonly tickets: TicketBoard;
  /** The storage service of this server; undefined without one. */
  readonly storageEndpoint: () => { readonly port: number; readonly tls: boolean } | undefined;
}

/** What the routes work with. */
export interface ApiParts extends ApiOptions {
  readonly principalOf: (request: FastifyRequest) => Principal;
  /** Whether the caller administers its account, rather than the project that the request is for. */
  readonly administersAccount: (request: FastifyRequest) => boolean;
  /** The same for the change that a request makes: its first batch has the entry of the audit trail. */
  readonly audited: (request: FastifyRequest) => ApiParts;
  /** What a request with an idempotency key is answered, for the batch of its change. To be called before that; it holds no secret. */
  readonly answerWithChange: (request: FastifyRequest, answer: KeptAnswer) => void;
  /** The claim whose token a request has. */
  readonly claimOf: (request: FastifyRequest) => RunClaim;
  /** Recognises the caller of a long request again: rejects once its token may no longer make it, or has other rights than it had. */
  readonly authorizeAgain: (request: FastifyRequest) => Promise<void>;
  /** The body of an upload, which fails at its end where the caller may not make the request by then. */
  readonly uploadOf: (request: FastifyRequest) => AsyncIterable<Uint8Array>;
}

export const ProjectName = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
  description: "name of a project",
});
export const StackNameSchema = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
  description: "name of a stack in its project",
});
export const Digest = Type.String({ pattern: "^[0-9a-f]{64}$" });
const RunId = Type.String({ pattern: "^[0-9A-Za-z_.-]{1,128}$", description: "id of a run" });

export const ProjectParams = Type.Object({ project: ProjectName });
export const StackParams = Type.Object({ project: ProjectName, stack: StackNameSchema });
export const RunParams = Type.Object({ project: ProjectName, stack: StackNameSchema, run: RunId });

/** What a request consists of, where that is no JSON: `x-body` is the type of a body that is read as a stream. */
type RequestSchema = Pick<FastifySchema, "params" | "querystring" | "body" | "headers"> & {
  readonly "x-body"?: string;
  readonly produces?: readonly string[];
};

interface RouteDescription extends FastifySchema {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly operationId: string;
}

const Problem = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.Unsafe<ServerErrorCode>({
      type: "string",
      title: "ProblemCode",
      enum: Object.keys(SERVER_ERRORS),
    }),
    request_id: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ pointer: Type.String(), detail: Type.String() })),
    ),
  },
  { title: "Problem" },
);

/** The version that a change is made to. */
export const MatchHeader = Type.Object({
  "if-match": Type.Optional(
    Type.String({ description: "the entity tag of what is changed, or * for any" }),
  ),
});

const FAILURES: Readonly<Record<number, string>> = {
  400: "the request is not valid",
  401: "the request has no valid credential",
  403: "the credential does not allow this",
  404: "the resource does not exist",
  429: "too many requests",
  500: "the server failed",
  503: "the store does not answer",
};

/** The schema of a route: with the failures that every route has, and its own. */
export function routeSchema(
  summary: string,
  operationId: string,
  success: Readonly<Record<number, TSchema>>,
  request: RequestSchema = {},
  failures: Readonly<Record<number, string>> = {},
): RouteDescription {
  const problems = Object.entries({ ...FAILURES, ...failures }).map(([status, description]) => [
    status,
    { description, content: { "application/problem+json": { schema: Problem } } },
  ]);
  return {
    tags: ["runs"],
    summary,
    operationId,
    response: { ...success, ...(Object.fromEntries(problems) as Record<string, object>) },
    ...request,
  };
}

/** The stack of a request in the account of the caller. */
export async function stackOf(
  { storage }: Pick<ApiParts, "storage">,
  { account }: Principal,
  { project, stack }: { readonly project: string; readonly stack: string },
): Promise<NamedStack> {
  checkProjectName(project);
  const found = await new StackDirectory({ storage }).find({ account, project }, stack);
  if (found === undefined) throw new ServerError("not_found", `there is no stack "${stack}"`);
  return found;
}

export function checkProjectName(project: string): void {
  try {
    checkProject(project);
  } catch (error) {
    if (!isStorageError(error)) throw error;
    throw new ServerError("not_found", `there is no project "${project}"`);
  }
}

/** The entity tag of a stored version. */
export function etagOf(version: string): string {
  return `"${createHash("sha256").update(version).digest("base64url").slice(0, 22)}"`;
}

/** `changed` unless `If-Match` names the present version; `precondition_required` without it. */
export function requireMatch(request: FastifyRequest, version: string | undefined): void {
  const { "if-match": wanted } = request.headers;
  if (wanted === undefined) throw new ServerError("precondition_required");
  if (version === undefined || (wanted !== "*" && wanted !== etagOf(version))) {
    throw new ServerError("changed");
  }
}
