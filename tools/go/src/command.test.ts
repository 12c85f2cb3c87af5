import { describe, expect, it } from "vitest";
import { runBuildCommand } from "./command.ts";
import { ToolsFolder } from "./testing/tools-folder.ts";

const COPY = 'echo program > "$out"';

async function run(folder: ToolsFolder, go: string, ...argv: string[]) {
  let out = "";
  let err = "";
  const code = await runBuildCommand(
    argv,
    { ...process.env, STACKWRIGHT_TOOLS_CACHE: folder.cache },
    {
      tools: folder.tools,
      go,
      output: { out: (text) => (out += text), err: (text) => (err += text) },
    },
  );
  return { code, out, err };
}

function twoTools(): ToolsFolder {
  const folder = new ToolsFolder();
  folder.write("needed/go.mod", "module needed\n");
  folder.write("needed/tool.json", { version: "1.0.0", description: "is needed", priority: 1 });
  folder.write("extra/go.mod", "module extra\n");
  folder.write("extra/tool.json", { version: "2.0.0", description: "is extra", required: false });
  return folder;
}

describe("the build command", () => {
  it("prints one path per tool", async () => {
    using folder = twoTools();
    const { code, out } = await run(folder, folder.fakeGo(COPY));
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/^needed: \/.+\/needed$/),
      expect.stringMatching(/^extra: \/.+\/extra$/),
      "",
    ]);
  });

  it("prints the same as JSON, and nothing else", async () => {
    using folder = twoTools();
    const { out } = await run(folder, folder.fakeGo(COPY), "--json", "extra");
    expect(JSON.parse(out)).toMatchObject([
      { status: "built", name: "extra", version: "2.0.0", bytes: 8 },
    ]);
  });

  it("lists without building", async () => {
    using folder = twoTools();
    const { code, out } = await run(folder, folder.fakeGo("exit 1"), "--list");
    expect(code).toBe(0);
    expect(out).toBe("needed 1.0.0: is needed\nextra 2.0.0 (optional): is extra\n");
  });

  it("fails when a required tool does, and shows the compiler's words", async () => {
    using folder = twoTools();
    const go = folder.fakeGo(`case $PWD in */needed) echo broken >&2; exit 1 ;; esac; ${COPY}`);
    const { code, out, err } = await run(folder, go);
    expect(code).toBe(1);
    expect(out).toContain("needed: not built (compile): the build failed: broken\n");
    expect(out).toMatch(/^extra: \//m);
    expect(err).toContain("  broken\n");
  });

  it("does not fail for an optional tool, unless it was named", async () => {
    using folder = twoTools();
    const go = folder.fakeGo(`case $PWD in */extra) exit 1 ;; esac; ${COPY}`);
    expect((await run(folder, go)).code).toBe(0);
    expect((await run(folder, go, "extra")).code).toBe(1);
  });

  it.each([
    ["a name that does not exist", ["nothing"], "no such tool: nothing; there are needed, extra"],
    ["an option that does not exist", ["--fast"], "usage:"],
    ["a number of jobs that is none", ["--jobs", "0"], "--jobs must be a positive whole number"],
  ])("refuses %s", async (_, argv, message) => {
    using folder = twoTools();
    const { code, err } = await run(folder, folder.fakeGo("exit 1"), ...argv);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
