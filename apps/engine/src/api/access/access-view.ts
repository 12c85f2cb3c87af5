import type { RoleBinding, Team, User } from "@stackwright/proto/stackwright";
import { Type } from "typebox";
import { type SubjectKind } from "../../access/access-places.ts";
import { USER_ROLES, type UserRole } from "../../access/effective-rights.ts";
import { timeOf } from "../runs/run-view.ts";

/** What users and teams are called: no dot, as the names of records consist of parts that dots separate. */
export const SubjectName = Type.String({ pattern: "^[a-z0-9][a-z0-9_-]{0,62}$" });
/** What a server calls an identity provider. */
export const ProviderName = Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" });
const Group = Type.String({ minLength: 1, maxLength: 256 });
const Text = Type.String({ maxLength: 256 });

export const UserRoleSchema = Type.Unsafe<UserRole>({
  type: "string",
  title: "UserRole",
  enum: Object.keys(USER_ROLES),
});
export const SubjectKindSchema = Type.Unsafe<SubjectKind>({
  type: "string",
  enum: ["user", "team"],
});

export const MadeToken = Type.Object(
  { id: Type.String(), token: Type.String({ description: "shown once" }) },
  { title: "MadeToken" },
);

export const UserView = Type.Object(
  {
    name: Type.String(),
    display_name: Type.String(),
    email: Type.String(),
    service: Type.Boolean({ description: "a service account: it signs in nowhere" }),
    disabled: Type.Boolean({ description: "all of its credentials are refused" }),
    groups: Type.Array(Type.String(), { description: "of the identity provider" }),
    issuer: Type.Optional(Type.String()),
    created_at: Type.String(),
    signed_in_at: Type.Optional(Type.String()),
  },
  { title: "User" },
);

const userSettings = {
  display_name: Type.Optional(Text),
  email: Type.Optional(Text),
  disabled: Type.Optional(Type.Boolean()),
};
export const NewUser = Type.Object(
  { name: SubjectName, service: Type.Optional(Type.Boolean()), ...userSettings },
  { additionalProperties: false, title: "NewUser" },
);
export const UserSettings = Type.Object(userSettings, {
  additionalProperties: false,
  title: "UserSettings",
});

export const TeamView = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    members: Type.Array(Type.String()),
    groups: Type.Array(Type.String(), {
      description: "groups of the identity provider whose users are members as well",
    }),
    issuer: Type.Optional(
      Type.String({ description: "whose groups they are; none: of the only one of the account" }),
    ),
    created_at: Type.String(),
  },
  { title: "Team" },
);

const teamSettings = {
  description: Type.Optional(Text),
  groups: Type.Optional(Type.Array(Group, { maxItems: 100, uniqueItems: true })),
  provider: Type.Optional(
    Type.Unsafe<string>({
      ...ProviderName,
      description: "the identity provider whose groups they are; needed where there are several",
    }),
  ),
};
export const NewTeam = Type.Object(
  { name: SubjectName, ...teamSettings },
  { additionalProperties: false, title: "NewTeam" },
);
export const TeamSettings = Type.Object(teamSettings, {
  additionalProperties: false,
  title: "TeamSettings",
});

export const RoleView = Type.Object(
  {
    kind: SubjectKindSchema,
    subject: Type.String(),
    project: Type.Optional(Type.String({ description: "without it in the whole account" })),
    role: UserRoleSchema,
    actor: Type.String({ description: "who gave it" }),
    updated_at: Type.String(),
  },
  { title: "Role" },
);
export const NewRole = Type.Object(
  { role: UserRoleSchema },
  { additionalProperties: false, title: "NewRole" },
);

export function userViewOf(user: User): Type.Static<typeof UserView> {
  const { name, displayName, email, service, disabled, groups, issuer } = user;
  return {
    name,
    display_name: displayName,
    email,
    service,
    disabled,
    groups,
    ...(issuer !== "" && { issuer }),
    created_at: timeOf(user.createdAtMs),
    ...(user.signedInAtMs > 0n && { signed_in_at: timeOf(user.signedInAtMs) }),
  };
}

export function teamViewOf(team: Team): Type.Static<typeof TeamView> {
  const { name, description, members, groups, issuer, createdAtMs } = team;
  return {
    name,
    description,
    members,
    groups,
    ...(issuer !== "" && { issuer }),
    created_at: timeOf(createdAtMs),
  };
}

export function roleViewOf(binding: RoleBinding): Type.Static<typeof RoleView> {
  const { subjectKind, subject, project, role, actor, updatedAtMs } = binding;
  return {
    kind: subjectKind as SubjectKind,
    subject,
    ...(project !== "" && { project }),
    role: role as UserRole,
    actor,
    updated_at: timeOf(updatedAtMs),
  };
}
