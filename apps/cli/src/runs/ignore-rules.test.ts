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

  it("take no store of a server by mistake", () => {
    const take = (text: string, ...paths: readonly string[]) => {
      const rules = parseIgnoreRules(text);
      return paths.map((path) => rules.isIgnored(path, false));
    };
    const STORE = ["data/blobs/x", "data/store.db", "data/writer.lock"];
    expect(() => take("", ...STORE)).toThrow('The folder "data" holds the store of a server.');
    expect(() => take("", "writer.lock", "a.tf", "store.db")).toThrow("of the configuration is");
    expect(take("/data/", ...STORE)).toEqual([true, true, true]);
    // Of different folders, or one of both alone, they are files of the user.
    expect(take("", "a/store.db", "b/writer.lock", "store.db")).toEqual([false, false, false]);
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
