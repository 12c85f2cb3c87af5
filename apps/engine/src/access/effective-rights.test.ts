import { RoleBinding, Team, User } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { type AccessFacts, isMember, rightsOfUser } from "./effective-rights.ts";

const ISSUER = "https://sign-in.example.com";
const OTHER = "https://other.example.com";

function given(subject: string, role: string, project = "", subjectKind = "user"): RoleBinding {
  return RoleBinding.create({ subjectKind, subject, role, project });
}

function rights(name: string, bindings: readonly RoleBinding[], more: Partial<AccessFacts> = {}) {
  const user = User.create({ name });
  return rightsOfUser({ users: new Map([[name, user]]), teams: [], bindings, ...more }, user);
}

it("is a member by its name, or by a group of the issuer that the team means", () => {
  const user = User.create({ name: "ann", issuer: ISSUER, groups: ["ops"] });
  const team = (more: Partial<Team>) => Team.create({ name: "t", ...more });
  expect(isMember(team({ members: ["ann"] }), User.create({ name: "ann" }))).toBe(true);
  const ofIssuer = team({ groups: ["ops"], issuer: ISSUER });
  expect(isMember(ofIssuer, user)).toBe(true);
  expect(isMember(ofIssuer, { ...user, issuer: OTHER })).toBe(false);
  expect(isMember(ofIssuer, { ...user, groups: ["dev"] })).toBe(false);
  // A team that names no issuer means the only one that there is, and none where there are more.
  const ofAny = team({ groups: ["ops"] });
  expect(isMember(ofAny, user, ISSUER)).toBe(true);
  expect(isMember(ofAny, user, OTHER)).toBe(false);
  expect(isMember(ofAny, user)).toBe(false);
  // A user that an administrator made has groups of none.
  expect(isMember(ofAny, { ...user, issuer: "" })).toBe(false);
});

it("has its roles in the account everywhere, and those in single projects beside them", () => {
  expect(rights("ann", [given("ann", "operator"), given("ann", "admin", "web")])).toEqual({
    roles: ["deployer"],
    projects: [],
    projectRoles: new Map([["web", ["admin"]]]),
  });
  expect(rights("ann", [given("bob", "admin"), given("ann", "none")])).toEqual({
    roles: [],
    projects: [],
  });
  // A team of the name of a user is another one.
  expect(rights("ops", [given("ops", "admin", "", "team")]).roles).toEqual([]);
});

it.each([
  [["admin"], ["deployer"]],
  [["admin", "operator"], ["deployer"]],
  [["operator", "planner"], ["planner"]],
  [["planner", "viewer"], ["reader"]],
  [["admin", "viewer"], ["reader"]],
] as const)("has by the roles %j in projects, for what belongs to none, %j", (roles, expected) => {
  const bindings = roles.map((role, at) => given("ann", role, `p${at}`));
  const found = rights("ann", bindings);
  expect(found.roles).toEqual(expected);
  expect(found.projects).toEqual(roles.map((_, at) => `p${at}`));
});

it("has nothing for what belongs to no project where a lower role of it may be unreadable", () => {
  const bindings = [given("ann", "admin", "web")];
  const damagedOf = (kind: "user" | "team", subject: string) => ({
    damaged: { teams: [], bindings: [{ kind, subject }] },
  });
  expect(rights("ann", bindings, damagedOf("user", "ann")).roles).toEqual([]);
  expect(rights("ann", bindings, damagedOf("user", "bob")).roles).toEqual(["deployer"]);
  expect(rights("ann", bindings, damagedOf("team", "ops")).roles).toEqual(["deployer"]);
  const teams = [Team.create({ name: "ops", members: ["ann"] })];
  expect(rights("ann", bindings, { teams, ...damagedOf("team", "ops") }).roles).toEqual([]);
});
