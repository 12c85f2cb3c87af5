import { ENGINE_KINDS } from "@stackwright/core";
import { REGISTRY_KINDS } from "@stackwright/registry";
import { expect, it } from "vitest";
import { CONTENTS_OF_ACCOUNTS, KINDS_GONE_WITH_ACCOUNTS } from "./kinds-of-accounts.ts";
import { SERVER_KINDS } from "./server-kinds.ts";

it("of every kind it is said whether it keeps an account, goes with one or stays", () => {
  const all = [
    ...Object.values(SERVER_KINDS).map(({ type }) => type.kind),
    ...Object.keys(REGISTRY_KINDS),
    ...ENGINE_KINDS,
  ];
  const contents = CONTENTS_OF_ACCOUNTS.map(({ type }) => type.kind);
  expect(contents.filter((kind) => !all.includes(kind))).toEqual([]);
  const gone = KINDS_GONE_WITH_ACCOUNTS.map(({ kind }) => kind);
  // Those whose records stay when they are emptied.
  const both = gone.filter((kind) => contents.includes(kind));
  expect(both.toSorted()).toEqual(["NotificationSettings", "RunHooks"]);
  const rest = all.filter((kind) => !contents.includes(kind) && !gone.includes(kind));
  expect(rest.toSorted()).toEqual([
    "AccessKey",
    "AccessToken",
    "Account",
    "AuditEntry",
    "AuditOrder",
    "AuditSegment",
    "ConsoleCodes",
    "CredentialCount",
    "DeviceLogin",
    "RegistryNamespace",
    "RegistrySecret",
    "ServerKeys",
    "UsedSignature",
  ]);
});

it("what users make until it is deleted keeps an account, but for what belongs to users, to other records and to caches", () => {
  const contents = new Set(CONTENTS_OF_ACCOUNTS.map(({ type }) => type.kind));
  const made = Object.values(SERVER_KINDS).filter(
    ({ scope, retention, type }) =>
      scope !== "site" && retention === "until deleted" && !contents.has(type.kind),
  );
  expect(made.map(({ type }) => type.kind).toSorted()).toEqual([
    "Account",
    "CreationCount",
    "RfsStackSetCount",
    "RoleBinding",
    "Team",
    "TriggerGraph",
    "UpstreamProvider",
    "UpstreamSchemas",
    "UpstreamVersion",
    "User",
    "UserIdentity",
    "VcsBranch",
  ]);
});
