import { ENGINE_KINDS } from "@stackwright/core";
import { REGISTRY_KINDS } from "@stackwright/registry";
import { type ResourceType, tenancyOf } from "@stackwright/storage";
import type { Place } from "./run-places.ts";
import { SERVER_KINDS } from "./server-kinds.ts";

/** What keeps an account from its deletion, by the kinds of the records. */
const CONTENTS: Readonly<Record<string, string>> = Object.freeze({
  Stack: "stacks",
  StackDeletion: "stacks that are being deleted",
  Project: "projects",
  ProjectDeletion: "projects that are being deleted",
  Variable: "variables",
  VariableSet: "variable sets of projects",
  AccountVariableSet: "variable sets",
  PolicySet: "policy sets",
  RunHooks: "hooks of runs",
  DriftHook: "hooks for drift",
  NotificationSettings: "projects with destinations of notifications",
  VcsConnection: "connections to repositories",
  AuditWebhook: "webhooks of the audit trail",
  RfsStackSet: "stack sets",
  RfsTemplate: "templates",
  ModuleVersion: "versions of private modules",
  PrivateProvider: "private providers",
  PublishedRelease: "published versions of providers",
});

/** Settings whose record stays when they are emptied: then it keeps nothing, and goes with the account. */
const EMPTIED: ReadonlySet<string> = new Set(["NotificationSettings", "RunHooks"]);
/** What says what was done in the account stays as long as ever: it is no part of what users made. */
const STAYING: ReadonlySet<string> = new Set(["AuditEntry", "AuditOrder", "AuditSegment"]);
/** What lies with the server rather than in an account. Credentials are revoked by themselves. */
const OF_SERVER: ReadonlySet<string> = new Set([
  "AccessKey",
  "AccessToken",
  "CredentialCount",
  "RegistrySecret",
  "UsedSignature",
  "RegistryNamespace",
  ...Object.values(SERVER_KINDS)
    .filter(({ scope }) => scope === "site")
    .map(({ type }) => type.kind),
]);

/** The kinds of which users make something in an account, with what that is called. */
export const CONTENTS_OF_ACCOUNTS: readonly {
  readonly type: ResourceType;
  readonly what: string;
}[] = Object.entries(CONTENTS).map(([kind, what]) => ({ type: typeOf(kind), what }));

/** What is removed with an account in which nothing is left: users with their roles first. */
export const KINDS_GONE_WITH_ACCOUNTS: readonly ResourceType[] = [
  ...new Set([
    "LoginSession",
    "RoleBinding",
    "Team",
    "UserIdentity",
    "User",
    ...Object.values(SERVER_KINDS).map(({ type }) => type.kind),
    ...Object.keys(REGISTRY_KINDS),
    ...ENGINE_KINDS,
  ]),
]
  .filter((kind) => !(kind in CONTENTS) || EMPTIED.has(kind))
  .filter((kind) => !STAYING.has(kind) && !OF_SERVER.has(kind))
  // It goes last, by itself.
  .filter((kind) => kind !== SERVER_KINDS.account.type.kind)
  .map(typeOf);

/** Where it is said what an account is called. */
export function accountPlace(account: string): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name: "account" };
}

function typeOf(kind: string): ResourceType {
  return { group: "stackwright", groupVersion: "v1", kind };
}
