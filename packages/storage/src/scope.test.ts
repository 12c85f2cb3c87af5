import { describe, expect, it } from "vitest";
import { checkAccount, checkProject, checkRegion, type TenancyScope, tenancyOf } from "./scope.ts";

const SCOPES: readonly (readonly [TenancyScope, string])[] = [
  [{ kind: "site" }, "stackwright/local/~server"],
  [{ kind: "credentials" }, "stackwright/local/registry"],
  [{ kind: "account", account: "acme" }, "acme/local/~account"],
  [{ kind: "project", account: "acme", project: "web" }, "acme/local/web"],
  [{ kind: "region", account: "acme", region: "cn-north-7" }, "acme/local/cn-north-7"],
];

describe("the tenancy of a scope", () => {
  it.each(SCOPES)("%j is %s", (scope, place) => {
    const { partition, peerName, namespace } = tenancyOf(scope);
    expect(`${partition}/${peerName}/${namespace}`).toBe(place);
  });

  it("belongs to no user for the account of the installation, however it is written", () => {
    for (const account of ["stackwright", "Stackwright", "STACKWRIGHT"]) {
      for (const scope of [
        { kind: "account", account },
        { kind: "project", account, project: "registry" },
        { kind: "region", account, region: "registry" },
      ] as const) {
        expect(() => tenancyOf(scope)).toThrow("reserved");
      }
    }
  });

  it("is refused for an invalid name", () => {
    for (const name of ["", "*", "~account", "a/b", "-a", ".", "a".repeat(65), "a\0", "ä", "a b"]) {
      expect(() => checkAccount(name), name).toThrow("is not a valid account name");
      expect(() => checkProject(name), name).toThrow("is not a valid project name");
      expect(() => checkRegion(name), name).toThrow("is not a valid region name");
    }
    for (const name of ["a", "default", "a61dfe3154de42829367056598d5040f", "a".repeat(64)]) {
      checkAccount(name);
      checkProject(name);
      checkRegion(name);
    }
    checkProject("My_project.1");
  });
});
