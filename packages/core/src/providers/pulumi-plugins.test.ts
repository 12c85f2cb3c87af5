import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pluginProgram } from "./pulumi-plugins.ts";

it("finds the programs of plug-ins in languages", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plugins-"));
  const put = async (folder: string, files: Readonly<Record<string, string>>): Promise<string> => {
    const path = join(scratch.path, folder);
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(path, name, ".."), { recursive: true });
      await writeFile(join(path, name), text);
    }
    return path;
  };
  const node = await put("node", { "PulumiPlugin.yaml": "runtime: nodejs\n", "index.js": "" });
  expect(await pluginProgram(node, "x")).toEqual({
    command: process.execPath,
    args: [join(node, "index.js")],
  });
  const python = await put("python", { "PulumiPlugin.yaml": "runtime: python\n" });
  expect(await pluginProgram(python, "x")).toBe(undefined);
  await put("python", { "__main__.py": "" });
  expect(await pluginProgram(python, "x")).toEqual({ command: "python3", args: ["-u", python] });
  const options = "runtime:\n  name: python\n  options:\n    virtualenv: venv\n";
  await put("python", { "PulumiPlugin.yaml": options, "venv/bin/python": "" });
  expect((await pluginProgram(python, "x"))?.command).toBe(join(python, "venv/bin/python"));
  const go = await put("go", { "PulumiPlugin.yaml": "runtime: go\n", "main.go": "" });
  expect(await pluginProgram(go, "x")).toBe(undefined);
});
