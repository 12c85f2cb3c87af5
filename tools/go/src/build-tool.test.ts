import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BuildOptions, buildTool, buildTools } from "./build-tool.ts";
import { ToolsFolder } from "./testing/tools-folder.ts";
import { discoverTools, type Tool } from "./tool.ts";

const COPY = 'echo program > "$out"';

function setUp(folder: ToolsFolder, build: string): { tool: Tool; options: BuildOptions } {
  folder.write("a/go.mod", "module a\n");
  folder.write("a/main.go", "package main\n");
  const [tool] = discoverTools(folder.tools);
  return { tool: tool!, options: { go: folder.fakeGo(build), cache: folder.cache } };
}

function buildCount(folder: ToolsFolder): number {
  return existsSync(folder.buildsLog)
    ? readFileSync(folder.buildsLog, "utf8").trim().split("\n").length
    : 0;
}

describe("buildTool", () => {
  it("builds once and answers from the cache afterwards", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, COPY);
    const announced: string[] = [];
    const onBuild = ({ name }: Tool) => announced.push(name);

    const first = await buildTool(tool, { ...options, onBuild });
    const second = await buildTool(tool, { ...options, onBuild });

    expect(first).toMatchObject({ status: "built", name: "a", bytes: 8, required: true });
    expect(second).toEqual({ ...first, status: "cached" });
    expect("path" in first && readFileSync(first.path, "utf8")).toBe("program\n");
    expect("path" in first && basename(first.path)).toBe("a");
    expect(buildCount(folder)).toBe(1);
    expect(announced).toEqual(["a"]);
  });

  it("builds again beside the old result when a source has changed", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, COPY);
    const first = await buildTool(tool, options);
    folder.write("a/main.go", "package main // changed\n");
    const second = await buildTool(tool, options);
    expect(second.status).toBe("built");
    expect("path" in first && existsSync(first.path)).toBe(true);
    expect("path" in second && "path" in first && second.path !== first.path).toBe(true);
  });

  it("builds once when two ask at the same time", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, `sleep 0.3; ${COPY}`);
    const results = await Promise.all([buildTool(tool, options), buildTool(tool, options)]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["built", "cached"]);
    expect(buildCount(folder)).toBe(1);
  });

  it("says what did not compile and leaves nothing in the cache", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, `${COPY}; echo "./main.go:1: bad" >&2; exit 1`);
    const result = await buildTool(tool, options);
    expect(result).toMatchObject({
      status: "failed",
      reason: "compile",
      message: "the build failed: ./main.go:1: bad",
    });
    expect(readdirSync(join(folder.cache, "a"))).toEqual(["lock"]);
  });

  it("kills the compiler and its children at the deadline", async () => {
    using folder = new ToolsFolder();
    const pidFile = join(folder.root, "pid");
    const { tool, options } = setUp(folder, `sleep 600 & echo $! > '${pidFile}'; wait`);
    const result = await buildTool({ ...tool, deadlineMs: 1500 }, options);
    expect(result).toMatchObject({ status: "failed", reason: "deadline" });
    await expect.poll(() => isRunning(Number(readFileSync(pidFile, "utf8")))).toBe(false);
  });

  it("stops on request, and says so", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, "sleep 600");
    const stop = new AbortController();
    const result = buildTool(tool, {
      ...options,
      signal: stop.signal,
      onBuild: () => setTimeout(() => stop.abort(new Error("interrupted")), 50),
    });
    expect(await result).toMatchObject({ status: "failed", reason: "cancelled" });
  });

  it("says that there is no Go", async () => {
    using folder = new ToolsFolder();
    const { tool } = setUp(folder, COPY);
    const result = await buildTool(tool, { cache: folder.cache, go: join(folder.root, "nowhere") });
    expect(result).toMatchObject({
      status: "failed",
      reason: "no-go",
      message: expect.stringMatching(/^Go is not installed/) as string,
    });
  });

  it("says what a Go that refuses the module says", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, COPY);
    writeFileSync(options.go!, '#!/bin/sh\necho "go: go.mod requires go >= 1.99" >&2\nexit 1\n');
    expect(await buildTool(tool, options)).toMatchObject({
      reason: "no-go",
      message: expect.stringContaining("go.mod requires go >= 1.99") as string,
    });
  });

  it("removes what a killed build has left, and a result without its record", async () => {
    using folder = new ToolsFolder();
    const { tool, options } = setUp(folder, COPY);
    const first = await buildTool(tool, options);
    const home = join(folder.cache, "a");
    mkdirSync(join(home, ".building-1"));
    if (!("path" in first)) throw new Error(first.message);
    writeFileSync(join(dirname(first.path), "build.json"), "");
    folder.write("a/main.go", "package main // changed\n");
    await buildTool(tool, options);
    expect(readdirSync(home)).not.toContain(".building-1");
  });
});

describe("buildTools", () => {
  it("continues after a failure", async () => {
    using folder = new ToolsFolder();
    folder.write("a/go.mod", "module a\n");
    folder.write("b/go.mod", "module b\n");
    const go = folder.fakeGo(`case $PWD in */a) exit 1 ;; esac; ${COPY}`);
    const results = await buildTools(discoverTools(folder.tools), { go, cache: folder.cache });
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ["a", "failed"],
      ["b", "built"],
    ]);
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
