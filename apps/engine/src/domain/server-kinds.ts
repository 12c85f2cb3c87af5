import {
  Account,
  AccountVariableSet,
  AuditWebhook,
  ConfigurationUpload,
  ConfigurationVersion,
  ConsoleCodes,
  CreationCount,
  DeviceLogin,
  DriftHook,
  Freeze,
  IdempotencyRecord,
  KeptState,
  LoginSession,
  ModuleVersion,
  NotificationDelivery,
  NotificationEvent,
  NotificationSettings,
  PlanComparison,
  PlanSet,
  PlanSummary,
  PolicyResult,
  PolicySet,
  Project,
  ProjectDeletion,
  ProviderReaction,
  RfsExecutionPlan,
  RfsStack,
  RfsStackSet,
  RfsStackSetCount,
  RfsStackSetOperation,
  RfsTemplate,
  RoleBinding,
  RunHooks,
  RunLog,
  RunLogSegment,
  RunTicket,
  RunTrigger,
  Schedule,
  ServerKeys,
  StackDeletion,
  StackDrift,
  StackLock,
  StackQueue,
  StackTool,
  StateVersion,
  Team,
  TriggerGraph,
  UpstreamProvider,
  UpstreamSchemas,
  UpstreamVersion,
  User,
  UserIdentity,
  Variable,
  VariableSet,
  VcsBranch,
  VcsConnection,
  VcsDelivery,
  VcsPullRequest,
  VcsTask,
  Workspace,
  WorkspaceName,
} from "@stackwright/proto/stackwright";
import type { Resource } from "@stackwright/storage";
import type { BlobReferenceKind } from "@stackwright/storage/blob";
import { decodeRecord, type RecordKind, recordKind } from "./record-kind.ts";

/** What is fixed for a kind that the server stores. */
interface ServerKind<M = never> extends RecordKind<M> {
  /** Where its resources are. */
  readonly scope: "site" | "account" | "project";
  /** What a name consists of, separated by dots. */
  readonly nameParts: readonly string[];
  /** Bound of the encoded message, in bytes. */
  readonly maxBytes: number;
  /** Digests of the blobs that a message needs. @default none */
  blobs?(message: M): readonly string[];
  /** When a resource may go. */
  readonly retention:
    | "with the stack"
    | "with the run"
    | "with its runs"
    | "while needed"
    | "10 minutes"
    | "24 h"
    | "50 per stack"
    | "50 per stack set"
    | "100 per stack"
    | "7 days"
    | "30 days"
    | "until deleted";
}

/** How long the answer to a request with an idempotency key is repeated. */
export const IDEMPOTENCY_KEPT_MS = 24 * 3_600_000;

const KIB = 1024;

/** The kinds of the runs of a server. `Run`, `StackPlan` and the state are kinds of `@stackwright/core`. */
export const SERVER_KINDS = Object.freeze({
  configuration: kindOf("ConfigurationVersion", ConfigurationVersion, {
    scope: "project",
    nameParts: ["stack", "digest"],
    maxBytes: 20 * KIB,
    blobs: ({ archiveSha256 }) => [archiveSha256],
    retention: "50 per stack",
  }),
  configurationUpload: kindOf("ConfigurationUpload", ConfigurationUpload, {
    scope: "project",
    nameParts: ["stack", "upload"],
    maxBytes: KIB,
    retention: "24 h",
  }),
  queue: kindOf("StackQueue", StackQueue, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: 64 * KIB,
    retention: "with the stack",
  }),
  planSet: kindOf("PlanSet", PlanSet, {
    scope: "project",
    nameParts: ["set"],
    maxBytes: 64 * KIB,
    retention: "with its runs",
  }),
  schedule: kindOf("Schedule", Schedule, {
    scope: "project",
    nameParts: ["stack", "schedule"],
    maxBytes: 8 * KIB,
    retention: "with the stack",
  }),
  trigger: kindOf("RunTrigger", RunTrigger, {
    scope: "project",
    nameParts: ["stack", "trigger"],
    maxBytes: 8 * KIB,
    retention: "with the stack",
  }),
  triggerGraph: kindOf("TriggerGraph", TriggerGraph, {
    scope: "account",
    nameParts: ["triggers"],
    maxBytes: KIB,
    retention: "until deleted",
  }),
  deletion: kindOf("StackDeletion", StackDeletion, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: KIB,
    retention: "while needed",
  }),
  drift: kindOf("StackDrift", StackDrift, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: 256 * KIB,
    retention: "with the stack",
  }),
  providerReaction: kindOf("ProviderReaction", ProviderReaction, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: 128 * KIB,
    retention: "with the stack",
  }),
  driftHook: kindOf("DriftHook", DriftHook, {
    scope: "project",
    nameParts: ["hook"],
    maxBytes: 64 * KIB,
    retention: "until deleted",
  }),
  ticket: kindOf("RunTicket", RunTicket, {
    scope: "project",
    nameParts: ["pool", "run"],
    maxBytes: 4 * KIB,
    retention: "while needed",
  }),
  log: kindOf("RunLog", RunLog, {
    scope: "project",
    nameParts: ["stack", "run"],
    maxBytes: KIB,
    retention: "with the run",
  }),
  segment: kindOf("RunLogSegment", RunLogSegment, {
    scope: "project",
    nameParts: ["stack", "run", "first"],
    maxBytes: 256 * KIB,
    retention: "with the run",
  }),
  summary: kindOf("PlanSummary", PlanSummary, {
    scope: "project",
    nameParts: ["stack", "run"],
    maxBytes: 320 * KIB,
    blobs: ({ documentSha256, viewSha256, jsonSha256, renderedSha256 }) =>
      [documentSha256, viewSha256, jsonSha256, renderedSha256].filter((sha256) => sha256 !== ""),
    retention: "with the run",
  }),
  policySet: kindOf("PolicySet", PolicySet, {
    scope: "account",
    nameParts: ["set"],
    maxBytes: 64 * KIB,
    blobs: ({ versions }) =>
      versions
        .flatMap(({ sourceSha256, programSha256, dataSha256 }) => [
          sourceSha256,
          programSha256,
          dataSha256,
        ])
        .filter((sha256) => sha256 !== ""),
    retention: "until deleted",
  }),
  policyResult: kindOf("PolicyResult", PolicyResult, {
    scope: "project",
    nameParts: ["stack", "run"],
    maxBytes: 128 * KIB,
    retention: "with the run",
  }),
  tool: kindOf("StackTool", StackTool, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: KIB,
    retention: "with the stack",
  }),
  comparison: kindOf("PlanComparison", PlanComparison, {
    scope: "project",
    nameParts: ["stack", "run"],
    maxBytes: 256 * KIB,
    retention: "with the run",
  }),
  variable: kindOf("Variable", Variable, {
    scope: "project",
    nameParts: ["owner", "category", "key"],
    maxBytes: 320 * KIB,
    retention: "with the stack",
  }),
  variableSet: kindOf("VariableSet", VariableSet, {
    scope: "project",
    nameParts: ["set"],
    maxBytes: 512 * KIB,
    retention: "until deleted",
  }),
  accountVariableSet: kindOf("AccountVariableSet", AccountVariableSet, {
    scope: "account",
    nameParts: ["set"],
    maxBytes: 512 * KIB,
    retention: "until deleted",
  }),
  project: kindOf("Project", Project, {
    scope: "account",
    nameParts: ["project"],
    maxBytes: 16 * KIB,
    retention: "until deleted",
  }),
  projectDeletion: kindOf("ProjectDeletion", ProjectDeletion, {
    scope: "account",
    nameParts: ["project"],
    maxBytes: KIB,
    retention: "while needed",
  }),
  lock: kindOf("StackLock", StackLock, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: 16 * KIB,
    retention: "while needed",
  }),
  keptState: kindOf("KeptState", KeptState, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: KIB,
    retention: "with the stack",
  }),
  stateVersion: kindOf("StateVersion", StateVersion, {
    scope: "project",
    nameParts: ["stack", "number"],
    maxBytes: 8 * KIB,
    blobs: ({ contentSha256 }) => [contentSha256],
    retention: "100 per stack",
  }),
  workspace: kindOf("Workspace", Workspace, {
    scope: "account",
    nameParts: ["stack"],
    maxBytes: 64 * KIB,
    retention: "with the stack",
  }),
  workspaceName: kindOf("WorkspaceName", WorkspaceName, {
    scope: "account",
    nameParts: ["workspace"],
    maxBytes: KIB,
    retention: "with the stack",
  }),
  rfsStack: kindOf("RfsStack", RfsStack, {
    scope: "project",
    nameParts: ["stack"],
    maxBytes: 1024 * KIB,
    retention: "with the stack",
  }),
  rfsPlan: kindOf("RfsExecutionPlan", RfsExecutionPlan, {
    scope: "project",
    nameParts: ["stack", "plan"],
    maxBytes: 8 * KIB,
    retention: "with the stack",
  }),
  rfsStackSet: kindOf("RfsStackSet", RfsStackSet, {
    scope: "account",
    nameParts: ["stack set"],
    maxBytes: 1024 * KIB,
    blobs: ({ templateSha256 }) => [templateSha256].filter((sha256) => sha256 !== ""),
    retention: "until deleted",
  }),
  rfsStackSetCount: kindOf("RfsStackSetCount", RfsStackSetCount, {
    scope: "account",
    nameParts: ["stack-sets"],
    maxBytes: KIB,
    retention: "until deleted",
  }),
  rfsStackSetOperation: kindOf("RfsStackSetOperation", RfsStackSetOperation, {
    scope: "account",
    nameParts: ["stack set", "operation"],
    maxBytes: 512 * KIB,
    retention: "50 per stack set",
  }),
  rfsTemplate: kindOf("RfsTemplate", RfsTemplate, {
    scope: "project",
    nameParts: ["template"],
    maxBytes: 640 * KIB,
    blobs: ({ versions }) => versions.map(({ contentSha256 }) => contentSha256),
    retention: "until deleted",
  }),
  moduleVersion: kindOf("ModuleVersion", ModuleVersion, {
    scope: "account",
    nameParts: ["namespace", "module", "system", "version"],
    maxBytes: 8 * KIB,
    blobs: ({ archiveSha256, documentationSha256 }) =>
      [archiveSha256, documentationSha256].filter((sha256) => sha256 !== ""),
    retention: "until deleted",
  }),
  upstreamProvider: kindOf("UpstreamProvider", UpstreamProvider, {
    scope: "account",
    nameParts: ["provider"],
    maxBytes: 1024 * KIB,
    retention: "until deleted",
  }),
  upstreamVersion: kindOf("UpstreamVersion", UpstreamVersion, {
    scope: "account",
    nameParts: ["provider", "version"],
    maxBytes: 512 * KIB,
    blobs: ({ packages }) => packages.map(({ sha256 }) => sha256),
    retention: "until deleted",
  }),
  upstreamSchemas: kindOf("UpstreamSchemas", UpstreamSchemas, {
    scope: "account",
    nameParts: ["schemas"],
    maxBytes: 512 * KIB,
    blobs: ({ schemas }) => schemas.map(({ blobSha256 }) => blobSha256),
    retention: "until deleted",
  }),
  freeze: kindOf("Freeze", Freeze, {
    scope: "project",
    nameParts: ["project or stack"],
    maxBytes: 4 * KIB,
    retention: "while needed",
  }),
  hooks: kindOf("RunHooks", RunHooks, {
    scope: "project",
    nameParts: ["project or stack"],
    maxBytes: 768 * KIB,
    retention: "until deleted",
  }),
  vcsConnection: kindOf("VcsConnection", VcsConnection, {
    scope: "project",
    nameParts: ["connection"],
    maxBytes: 128 * KIB,
    retention: "until deleted",
  }),
  vcsBranch: kindOf("VcsBranch", VcsBranch, {
    scope: "project",
    nameParts: ["connection"],
    maxBytes: 256 * KIB,
    retention: "until deleted",
  }),
  vcsTask: kindOf("VcsTask", VcsTask, {
    scope: "project",
    nameParts: ["connection", "key"],
    maxBytes: 16 * KIB,
    retention: "while needed",
  }),
  vcsDelivery: kindOf("VcsDelivery", VcsDelivery, {
    scope: "project",
    nameParts: ["connection", "sha256"],
    maxBytes: KIB,
    retention: "7 days",
  }),
  vcsPullRequest: kindOf("VcsPullRequest", VcsPullRequest, {
    scope: "project",
    nameParts: ["connection", "key"],
    maxBytes: 256 * KIB,
    blobs: ({ commentSha256 }) => [commentSha256].filter((sha256) => sha256 !== ""),
    retention: "30 days",
  }),
  notificationSettings: kindOf("NotificationSettings", NotificationSettings, {
    scope: "project",
    nameParts: ["notifications"],
    maxBytes: 256 * KIB,
    retention: "until deleted",
  }),
  notificationEvent: kindOf("NotificationEvent", NotificationEvent, {
    scope: "project",
    nameParts: ["event"],
    maxBytes: 32 * KIB,
    retention: "while needed",
  }),
  notificationDelivery: kindOf("NotificationDelivery", NotificationDelivery, {
    scope: "project",
    nameParts: ["destination", "event"],
    maxBytes: 4 * KIB,
    retention: "7 days",
  }),
  account: kindOf("Account", Account, {
    scope: "account",
    nameParts: ["account"],
    maxBytes: 8 * KIB,
    retention: "until deleted",
  }),
  auditWebhook: kindOf("AuditWebhook", AuditWebhook, {
    scope: "account",
    nameParts: ["webhook"],
    maxBytes: 16 * KIB,
    retention: "until deleted",
  }),
  user: kindOf("User", User, {
    scope: "account",
    nameParts: ["user"],
    maxBytes: 64 * KIB,
    retention: "until deleted",
  }),
  userIdentity: kindOf("UserIdentity", UserIdentity, {
    scope: "account",
    nameParts: ["sha256"],
    maxBytes: KIB,
    retention: "until deleted",
  }),
  team: kindOf("Team", Team, {
    scope: "account",
    nameParts: ["team"],
    maxBytes: 256 * KIB,
    retention: "until deleted",
  }),
  roleBinding: kindOf("RoleBinding", RoleBinding, {
    scope: "account",
    nameParts: ["place", "subject kind", "subject"],
    maxBytes: 4 * KIB,
    retention: "until deleted",
  }),
  loginSession: kindOf("LoginSession", LoginSession, {
    scope: "account",
    nameParts: ["sha256"],
    maxBytes: 4 * KIB,
    retention: "7 days",
  }),
  serverKeys: kindOf("ServerKeys", ServerKeys, {
    scope: "site",
    nameParts: ["worker"],
    maxBytes: 4 * KIB,
    retention: "while needed",
  }),
  deviceLogin: kindOf("DeviceLogin", DeviceLogin, {
    scope: "site",
    nameParts: ["hmac"],
    maxBytes: KIB,
    retention: "10 minutes",
  }),
  consoleCodes: kindOf("ConsoleCodes", ConsoleCodes, {
    scope: "site",
    nameParts: ["sha256 of the owner"],
    maxBytes: 2 * KIB,
    retention: "10 minutes",
  }),
  creationCount: kindOf("CreationCount", CreationCount, {
    scope: "account",
    nameParts: ["kind", "project", "prefix"],
    maxBytes: KIB,
    retention: "until deleted",
  }),
  idempotency: kindOf("IdempotencyRecord", IdempotencyRecord, {
    scope: "account",
    nameParts: ["actor", "sha256"],
    // The answer to a request for a run has what that request has, whose body has 1 MiB at most.
    maxBytes: 1024 * KIB,
    retention: "24 h",
  }),
});

/** The kinds with the blobs that they refer to, for the collection of blobs. */
export const SERVER_BLOB_KINDS: readonly BlobReferenceKind[] = Object.values(SERVER_KINDS).map(
  ({ blobReference }) => blobReference,
);

function kindOf<M>(
  name: string,
  codec: RecordKind<M>["codec"],
  facts: Pick<ServerKind<M>, "scope" | "nameParts" | "maxBytes" | "blobs" | "retention">,
): ServerKind<M> & { readonly blobReference: BlobReferenceKind } {
  const kind = recordKind(name, codec);
  const { type } = kind;
  return {
    ...kind,
    ...facts,
    blobReference: {
      type,
      ...(facts.blobs !== undefined && {
        blobs: (resource: Resource) => facts.blobs?.(decodeRecord(kind, resource)) ?? [],
      }),
    },
  };
}
