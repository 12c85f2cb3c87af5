import { describe, expect, it } from "vitest";
import { limitedTo } from "./limited-to.ts";
import type { Principal, Role } from "./principal.ts";

function principal(more: Partial<Principal>): Principal {
  return { account: "acme", actor: "a", roles: [], projects: [], ...more };
}

const inProjects = (roles: Readonly<Record<string, readonly Role[]>>) =>
  new Map(Object.entries(roles));

describe("what a credential may do of what its parent may", () => {
  it("is nothing in another account, or without a role of both", () => {
    const own = principal({ roles: ["publisher"] });
    expect(limitedTo(principal({ account: "other", roles: ["admin"] }), own)).toBeUndefined();
    expect(limitedTo(principal({ roles: ["worker"] }), own)).toBeUndefined();
    expect(limitedTo(principal({ roles: ["admin"] }), own)?.roles).toEqual(["publisher"]);
    expect(limitedTo(principal({ roles: ["reader"] }), own)?.roles).toEqual(["reader"]);
  });

  it("are the roles in single projects that both have there", () => {
    const limit = principal({
      projectRoles: inProjects({ a: ["deployer"], b: ["reader"], c: ["admin"] }),
    });
    const own = principal({
      projectRoles: inProjects({ a: ["planner"], b: ["admin"], d: ["admin"] }),
    });
    const limited = limitedTo(limit, own);
    expect(limited?.roles).toEqual([]);
    expect(limited?.projectRoles).toEqual(inProjects({ a: ["planner"], b: ["reader"] }));
    expect(limitedTo(limit, principal({ projectRoles: inProjects({ d: ["admin"] }) }))).toBe(
      undefined,
    );
  });

  it("is in the projects and stacks of both", () => {
    const limit = principal({ roles: ["admin"], projects: ["a", "b"], stacks: ["a/one", "b/one"] });
    const own = principal({ roles: ["reader"], projects: ["b", "c"], stacks: ["b/one", "c/one"] });
    expect(limitedTo(limit, own)).toMatchObject({ projects: ["b"], stacks: ["b/one"] });
    expect(limitedTo(limit, { ...own, projects: ["c"] })).toBeUndefined();
    expect(limitedTo(limit, { ...own, stacks: ["c/one"] })).toBeUndefined();
    expect(limitedTo(limit, principal({ roles: ["reader"] }))).toMatchObject({
      projects: ["a", "b"],
      stacks: ["a/one", "b/one"],
    });
  });

  it("is to make workers, for those who make workers of their account", () => {
    const worker = principal({ roles: ["worker"] });
    expect(limitedTo(principal({ roles: ["admin"] }), worker)?.roles).toEqual(["worker"]);
    expect(limitedTo(principal({ roles: ["admin"], projects: ["a"] }), worker)).toBeUndefined();
    expect(limitedTo(principal({ roles: ["publisher"] }), worker)).toBeUndefined();
  });
});
