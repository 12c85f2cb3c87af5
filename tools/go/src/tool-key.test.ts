import { describe, expect, it } from "vitest";
import { ToolsFolder } from "./testing/tools-folder.ts";
import { discoverTools, type Tool } from "./tool.ts";
import { toolKey } from "./tool-key.ts";

const GO = { version: "go1.26.0", platform: "linux/amd64" };

function withTool(run: (tool: Tool, folder: ToolsFolder) => void): void {
  using folder = new ToolsFolder();
  folder.write("a/go.mod", "module a\n");
  folder.write("a/go.sum", "sums\n");
  folder.write("a/main.go", "package main\n");
  const [tool] = discoverTools(folder.tools);
  run(tool!, folder);
}

describe("toolKey", () => {
  it.each(["go.mod", "go.sum", "main.go", "inner/more.go", "embedded.txt"])(
    "changes with %s",
    (file) => {
      withTool((tool, folder) => {
        const before = toolKey(tool, GO);
        folder.write(`a/${file}`, "changed\n");
        expect(toolKey(tool, GO)).not.toBe(before);
      });
    },
  );

  it.each(["README.md", "tool.json", "main_test.go"])("does not change with %s", (file) => {
    withTool((tool, folder) => {
      const before = toolKey(tool, GO);
      folder.write(`a/${file}`, "changed\n");
      expect(toolKey(tool, GO)).toBe(before);
    });
  });

  it("changes with the toolchain, the platform and all that is on the command line", () => {
    withTool((tool) => {
      const keys = [
        toolKey(tool, GO),
        toolKey(tool, { ...GO, version: "go1.26.1" }),
        toolKey(tool, { ...GO, platform: "linux/arm64" }),
        toolKey({ ...tool, package: "./cmd" }, GO),
        toolKey({ ...tool, binary: "b" }, GO),
        toolKey({ ...tool, ldflags: "-X main.version=2" }, GO),
      ];
      expect(new Set(keys).size).toBe(keys.length);
    });
  });

  it("does not change with descriptions and order", () => {
    withTool((tool) => {
      const other = { ...tool, description: "x", priority: 1, required: false, deadlineMs: 1 };
      expect(toolKey(other, GO)).toBe(toolKey(tool, GO));
    });
  });

  it("distinguishes a moved line from an unchanged one", () => {
    using folder = new ToolsFolder();
    folder.write("a/go.mod", "module a\n");
    folder.write("a/x.go", "one\n");
    folder.write("a/y.go", "two\n");
    const [tool] = discoverTools(folder.tools);
    const before = toolKey(tool!, GO);
    folder.write("a/x.go", "one\ny.gotwo\n");
    folder.write("a/y.go", "");
    expect(toolKey(tool!, GO)).not.toBe(before);
  });

  it("is the same for the same content in another place", () => {
    withTool((here) => withTool((there) => expect(toolKey(there, GO)).toBe(toolKey(here, GO))));
  });
});
