import { spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { TEST_PROGRAMS } from "../testing/test-programs.ts";
import { pulumiOrigin } from "./pulumi-origin.ts";

/* Plug-ins in Python and Go, run by what this machine has: each does what only it can do, and becomes a provider for tests. */

const NODE = process.execPath;
const CHATTY = TEST_PROGRAMS.chattyProvider;

const PYTHON = `import os, sys
import only_here
with open(os.environ["STARTED"], "w") as file:
    file.write(f"{os.getpid()} {only_here.NAME}")
os.execv(${JSON.stringify(NODE)}, [${JSON.stringify(NODE)}, ${JSON.stringify(CHATTY)}, *sys.argv[1:]])
`;

const GO = `package main

import (
	"os"
	"strconv"
	"syscall"
)

func main() {
	os.WriteFile(os.Getenv("STARTED"), []byte(strconv.Itoa(os.Getpid())+" go"), 0o600)
	args := append([]string{${JSON.stringify(NODE)}, ${JSON.stringify(CHATTY)}}, os.Args[1:]...)
	panic(syscall.Exec(args[0], args, os.Environ()))
}
`;

function absent(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args).status !== 0;
}

async function putPlugin(home: string, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = join(home, "resource-chatty-v1.0.0");
  await mkdir(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

/** Starts the plug-in, asks for its schema and ends it; what it wrote when it started. */
async function use(home: string): Promise<string> {
  const started = join(home, "started");
  // Also for the plug-in: it has the environment of the command.
  process.env["STARTED"] = started;
  const origin = pulumiOrigin({ directories: [home] });
  const reference = { source: "stackwright.local/pulumi/chatty", version: "1.0.0", alias: "" };
  let pid = 0;
  let who = "";
  {
    const [opened] = await origin.open(reference, {});
    await using provider = opened.provider;
    const { schema } = await provider.schema({});
    expect([...schema.resources.keys()]).toContain("chatty_chatty_note");
    const [own = "", language = ""] = (await readFile(started, "utf8")).split(" ");
    pid = Number(own);
    who = language;
    expect(process.kill(pid, 0)).toBe(true);
  }
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  return who;
}

it("a plug-in in Python runs in its virtual environment, and leaves its folder as it is", {
  timeout: 120_000,
}, async (ctx) => {
  ctx.skip(absent("python3", "-c", "import venv"), "there is no python3 with venv");
  await using home = await mkdtempDisposable(join(tmpdir(), "python plugin "));
  const folder = await putPlugin(home.path, {
    "PulumiPlugin.yaml": "runtime:\n  name: python\n  options:\n    virtualenv: venv\n",
    "__main__.py": PYTHON,
  });
  const environment = `${folder}.venv`;
  expect(absent("python3", "-m", "venv", "--without-pip", environment)).toBe(false);
  const [version = ""] = await readdir(join(environment, "lib"));
  await writeFile(
    join(environment, "lib", version, "site-packages/only_here.py"),
    'NAME = "python"\n',
  );
  expect(await use(home.path)).toBe("python");
  expect((await readdir(folder)).toSorted()).toEqual(["PulumiPlugin.yaml", "__main__.py"]);
});

it("a plug-in in Go is built when it starts, and ends with its build", {
  timeout: 180_000,
}, async (ctx) => {
  ctx.skip(absent("go", "version"), "there is no go");
  await using home = await mkdtempDisposable(join(tmpdir(), "go plugin "));
  const folder = await putPlugin(home.path, {
    "PulumiPlugin.yaml": "runtime: go\n",
    "go.mod": "module example.com/chatty\n\ngo 1.21\n",
    "main.go": GO,
  });
  expect(await use(home.path)).toBe("go");
  expect((await readdir(folder)).toSorted()).toEqual(["PulumiPlugin.yaml", "go.mod", "main.go"]);
});
