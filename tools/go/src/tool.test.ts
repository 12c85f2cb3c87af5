import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ToolsFolder } from "./testing/tools-folder.ts";
import { discoverTools, ToolDefinitionError, toolVariable } from "./tool.ts";

describe("discoverTools", () => {
  it("takes every folder with a go.mod, without a tool.json its own main", () => {
    using folder = new ToolsFolder();
    folder.write("vectors/go.mod", "module vectors\n");
    folder.write("vectors/main.go", "package main\n");
    folder.write("notes/README.md", "no Go here\n");
    expect(discoverTools(folder.tools)).toEqual([
      {
        name: "vectors",
        folder: join(folder.tools, "vectors"),
        description: "",
        version: "",
        package: ".",
        binary: "vectors",
        ldflags: "",
        priority: 100,
        required: true,
        deadlineMs: 600_000,
      },
    ]);
  });

  it("orders by priority, then by name", () => {
    using folder = new ToolsFolder();
    for (const [name, priority] of [
      ["c", 2],
      ["b", 2],
      ["a", 3],
      ["z", 1],
    ] as const) {
      folder.write(`${name}/go.mod`, `module ${name}\n`);
      folder.write(`${name}/tool.json`, { priority });
    }
    expect(discoverTools(folder.tools).map(({ name }) => name)).toEqual(["z", "b", "c", "a"]);
  });

  it("puts the version into the link flags", () => {
    using folder = new ToolsFolder();
    folder.write("a/go.mod", "module a\n");
    folder.write("a/tool.json", { version: "1.2.3", ldflags: "-X main.version={version}" });
    expect(discoverTools(folder.tools)[0]?.ldflags).toBe("-X main.version=1.2.3");
  });

  it.each([
    ["a member that is not known", { versoin: "1" }, /unknown member "versoin"/],
    ["a member of another type", { priority: "1" }, /"priority" must be a number, found string/],
    ["a list", [], /must hold one object/],
    ["text that is not JSON", "{", /not JSON/],
    ["a binary that is a path", { binary: "../x" }, /"binary" must be a plain file name/],
  ])("refuses %s", (_, content, message) => {
    using folder = new ToolsFolder();
    folder.write("a/go.mod", "module a\n");
    folder.write("a/tool.json", content);
    expect(() => discoverTools(folder.tools)).toThrow(ToolDefinitionError);
    expect(() => discoverTools(folder.tools)).toThrow(message);
  });

  it("understands every definition of this checkout", () => {
    expect(discoverTools().map(({ name }) => name)).toContain("etcd");
  });
});

it("names a tool's variable after it", () => {
  expect(toolVariable("terraform-provider-random")).toBe("TEST_TOOL_TERRAFORM_PROVIDER_RANDOM");
});
