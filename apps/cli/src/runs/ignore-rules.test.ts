import { describe, expect, it } from "vitest";
import { parseIgnoreRules } from "./ignore-rules.ts";

describe("rules of an ignore file", () => {
  it.each([
    ["", ".git/config", true],
    ["", "a/.git/config", true],
    ["", ".terraform/providers/x", true],
    ["", ".terraform/modules/modules.json", false],
    ["", ".stackwright/key", true],
    ["", "main.tf", false],
    ["", ".gitignore", false],
    ["*.log", "a/b.log", true],
    ["*.log", "b.logs", false],
    ["/b.log", "a/b.log", false],
    ["/b.log", "b.log", true],
    ["build/", "build/x/y", true],
    ["build/", "build", false],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z", true],
    ["a/*/z", "a/b/c/z", false],
    ["*.tfvars\n!keep.tfvars", "keep.tfvars", false],
    ["*.tfvars\n!keep.tfvars", "other.tfvars", true],
    ["# main.tf\n\n", "main.tf", false],
    ["a[0-9].tf", "a1.tf", true],
    ["a[!0-9].tf", "a1.tf", false],
    ["a?c", "a/c", false],
    ["a+(b).tf", "a+(b).tf", true],
    ["a+(b).tf", "aab.tf", false],
    ["!.stackwright/", ".stackwright/key", false],
  ])("%j: %s is left out: %s", (rules, path, expected) => {
    expect(parseIgnoreRules(rules).isIgnored(path, false)).toBe(expected);
  });

  it("take a folder by a pattern that ends with a slash", () => {
    expect(parseIgnoreRules("build/").isIgnored("build", true)).toBe(true);
  });

  it("say which folders need not be read", () => {
    const rules = parseIgnoreRules("build/");
    expect(["build", ".git", ".terraform", "modules"].map((path) => rules.isClosed(path))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(parseIgnoreRules("build/\n!build/keep.tf").isClosed("build")).toBe(false);
  });
});
