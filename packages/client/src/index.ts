export type { Answer, RequestOptions, ServerClient } from "./client.ts";
export { createServerClient } from "./client.ts";
export type { ClientErrorCode } from "./errors.ts";
export { CLIENT_ERRORS, ClientError, isClientError } from "./errors.ts";
export type { FollowOptions, RunLogEvent } from "./follow-run.ts";
export type {
  Configuration,
  EffectiveVariable,
  Finding,
  NewApproval,
  NewRun,
  NewStack,
  NewVariable,
  NotificationDelivery,
  NotificationDestination,
  Operations,
  PlanSet,
  PolicyEnforcement,
  PolicyFinding,
  PolicyResults,
  PolicySet,
  PolicyVerdict,
  Problem,
  ProblemCode,
  Project,
  ProjectSettings,
  PublishedModule,
  PublishedModuleVersion,
  Role,
  Run,
  RunHooks,
  RunMode,
  RunPhase,
  Schedule,
  Stack,
  StackDrift,
  StateVersion,
  Team,
  Token,
  Trigger,
  UploadBody,
  User,
  UserIdentity,
  Variable,
  VariableSet,
  VcsConnection,
} from "./gen/api.ts";
export type { ServerClientOptions } from "./options.ts";
export { serverAddress } from "./options.ts";
export type {
  QueuedRun,
  StackStatus,
  StackStatusChange,
  TopicChange,
  TopicObjects,
  WatchedRun,
  WatchedVersion,
  WatchTopicsOptions,
} from "./watch-topics.ts";
