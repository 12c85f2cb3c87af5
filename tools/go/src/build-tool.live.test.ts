import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { buildTool } from "./build-tool.ts";
import { findGo } from "./go-toolchain.ts";
import { ToolsFolder } from "./testing/tools-folder.ts";
import { discoverTools } from "./tool.ts";

const go = await findGo(import.meta.dirname, process.env);
const noGo = "reason" in go;
if (noGo) process.stdout.write(`skipped: ${go.message}\n`);

describe.skipIf(noGo)("buildTool with the real Go", () => {
  it("makes a program that runs and knows its version", async () => {
    using folder = new ToolsFolder();
    folder.write("hello/go.mod", "module hello\n\ngo 1.24\n");
    folder.write(
      "hello/main.go",
      'package main\n\nvar version = "none"\n\nfunc main() { println("hello", version) }\n',
    );
    folder.write("hello/tool.json", {
      version: "3.2.1",
      ldflags: "-X main.version={version}",
      binary: "say-hello",
    });
    const [tool] = discoverTools(folder.tools);
    const result = await buildTool(tool!, { cache: folder.cache });
    if (result.status === "failed") throw new Error(result.output);
    expect(result.path.endsWith("/say-hello")).toBe(true);
    expect(execFileSync("sh", ["-c", '"$1" 2>&1', "sh", result.path], { encoding: "utf8" })).toBe(
      "hello 3.2.1\n",
    );
    expect(result.seconds).toBeGreaterThan(0);
  });

  it("shows the compiler's message", async () => {
    using folder = new ToolsFolder();
    folder.write("broken/go.mod", "module broken\n\ngo 1.24\n");
    folder.write("broken/main.go", "package main\n\nfunc main() { nothing() }\n");
    const [tool] = discoverTools(folder.tools);
    expect(await buildTool(tool!, { cache: folder.cache })).toMatchObject({
      reason: "compile",
      message: expect.stringContaining("undefined: nothing") as string,
    });
  });

  it("sees that a module cannot be fetched", async () => {
    using folder = new ToolsFolder();
    folder.write("remote/go.mod", "module remote\n\ngo 1.24\n\nrequire example.com/m v1.0.0\n");
    const sum = `h1:${"A".repeat(43)}=\n`;
    folder.write("remote/go.sum", `example.com/m v1.0.0 ${sum}example.com/m v1.0.0/go.mod ${sum}`);
    folder.write("remote/main.go", 'package main\n\nimport _ "example.com/m"\n\nfunc main() {}\n');
    const [tool] = discoverTools(folder.tools);
    const env = { ...process.env, GOPROXY: "off", GOFLAGS: "" };
    expect(await buildTool(tool!, { cache: folder.cache, env })).toMatchObject({
      reason: "no-network",
    });
  });
});
