import { chmod, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/** A folder with a configuration that needs no provider. */
async function folder(): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "advice-"));
  onTestFinished(() => scratch.remove());
  await writeFile(join(scratch.path, "main.tf"), 'output "a" { value = 1 }\n');
  return scratch.path;
}

describe("a mistake in the use of the command", () => {
  it("leads to the help of the command, which names no empty defaults", async () => {
    const wrong = await tryCommand(["state", "list", "--stak=x"]);
    expect(wrong.error).toContain('Run "stackwright state list --help" for what it takes.');
    const { output } = await tryCommand(["plan", "--help"]);
    expect(output).toMatch(/how many things are done at the same time\s+\(default: 10\)/);
    expect(output).not.toMatch(/default: (?:\[|false|")/);
  });

  it.each([["nowhere/x.plan"], ["."]])("is a plan for %s, said before it is made", async (out) => {
    const cwd = await folder();
    const { code, output, error } = await tryCommand(["plan", "--out", out], { cwd });
    expect(error).toMatch(/^Error: The plan cannot be written to "/);
    expect([code, output]).toEqual([1, ""]);
  });

  // A user without all rights has such files: /dev/null, or one that an administrator made.
  it("is not a plan file that exists, whatever its folder allows", async () => {
    const cwd = await folder();
    await mkdir(join(cwd, "kept"));
    await writeFile(join(cwd, "kept/x.plan"), "");
    await chmod(join(cwd, "kept"), 0o555);
    onTestFinished(() => chmod(join(cwd, "kept"), 0o755));
    const { code, error } = await tryCommand(["plan", "--out", "kept/x.plan"], { cwd });
    expect([code, error]).toEqual([0, ""]);
  });

  it("quotes the plan in the command to do it", async () => {
    const cwd = await folder();
    const { output } = await tryCommand(["plan", "--out", "Ann's plan"], { cwd });
    expect(output).toContain("stackwright up 'Ann'\\''s plan'\n");
  });

  it.each([
    [["adopt", "--all", "nowhere"], 'There is no folder "nowhere"'],
    [["adopt", "envs"], "stackwright adopt --all envs"],
    [["--chdir", "envs", "adopt"], "There is no configuration"],
    [["modules", "publish", "a/b/c", "v1", "."], '"v1" is not a version'],
  ])("is said with what to do: %s", async (words, expected) => {
    const cwd = await folder();
    await mkdir(join(cwd, "envs"));
    const { code, error } = await tryCommand(words, { cwd });
    expect(error).toContain(expected);
    expect(code).toBe(1);
  });

  it("is an address without TLS of what closes such connections", async () => {
    const server = createServer((socket) => {
      socket.once("data", () => socket.end());
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const { error } = await tryCommand(["users", "list", "--server", `http://127.0.0.1:${port}`], {
      env: { STACKWRIGHT_TOKEN: "x" },
    });
    expect(error).toContain("The address of a server with TLS begins with https://.");
  });
});

it("a state that another store has adopted leads to its stack", async () => {
  const cwd = await folder();
  const marker = { version: 99, adopted_by: "x", adopted_stack: "net", adopted_store: "sqlite:/a" };
  await writeFile(join(cwd, "terraform.tfstate"), JSON.stringify(marker));
  const { error } = await tryCommand(["plan"], { cwd });
  expect(error).toContain("Use that stack: --store sqlite:/a --stack net.");
});

it("what the system refuses has advice, and none about providers", async () => {
  const cwd = await folder();
  const env = { STACKWRIGHT_DIR: "/proc/none" };
  const { code, error } = await tryCommand(["up", "--yes"], { cwd, env });
  expect(error).toContain("STACKWRIGHT_DIR names another folder");
  expect(code).toBe(1);
});
