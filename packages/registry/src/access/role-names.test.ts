import { describe, expect, it } from "vitest";
import { ROLES } from "./principal.ts";
import { nameOfRole, roleNamed, rolesNamed } from "./role-names.ts";

describe("names of roles", () => {
  it("are those of the registry, of the site, and of the store", () => {
    expect(ROLES.map(nameOfRole)).toContain("registry:reader");
    expect(nameOfRole("operator")).toBe("site-admin");
    expect(nameOfRole("worker")).toBe("worker");
  });

  it("are read as they are written, and as earlier releases wrote them", () => {
    for (const role of ROLES) {
      expect(roleNamed(nameOfRole(role))).toBe(role);
      expect(roleNamed(role)).toBe(role);
    }
  });

  it("give nothing for what is no role", () => {
    const names = [
      "registry:operator",
      "registry:worker",
      "site-admins",
      "registry:",
      "",
      "Reader",
    ];
    expect(rolesNamed(names)).toEqual([]);
  });
});
