import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import { pulumiOrigin } from "./pulumi-origin.ts";
import { pluginProgram, refusedPlugins } from "./pulumi-plugins.ts";

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
  // It leaves the folder, whose hash is in the lock file, as it is.
  const args = ["-B", "-u", python];
  expect(await pluginProgram(python, "x")).toEqual({ command: "python3", args });
  const options = "runtime:\n  name: python\n  options:\n    virtualenv: venv\n";
  await put("python", { "PulumiPlugin.yaml": options, "venv/bin/python": "" });
  expect((await pluginProgram(python, "x"))?.command).toBe(join(python, "venv/bin/python"));
  // Beside the folder, whose files stay as the lock file has them.
  await put("python.venv", { "bin/python": "" });
  expect((await pluginProgram(python, "x"))?.command).toBe(`${python}.venv/bin/python`);
  const uv = "runtime:\n  name: python\n  options:\n    toolchain: uv\n";
  const uvFolder = await put("uv", { "PulumiPlugin.yaml": uv, "__main__.py": "" });
  expect((await pluginProgram(uvFolder, "x"))?.command).toBe("python3");
  await put("uv", { ".venv/bin/python": "" });
  expect((await pluginProgram(uvFolder, "x"))?.command).toBe(join(uvFolder, ".venv/bin/python"));
  const go = await put("go", { "PulumiPlugin.yaml": "runtime: go\n", "main.go": "" });
  expect(await pluginProgram(go, "x")).toBe(undefined);
  const built = "runtime:\n  name: go\n  options:\n    binary: bin/x\n";
  await put("go", { "PulumiPlugin.yaml": built, "bin/x": "" });
  expect(await pluginProgram(go, "x")).toEqual({ command: join(go, "bin/x") });
});

it("says of plug-ins that cannot be started why, and what is to be done", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plugins-"));
  const put = async (version: string, text: string, ...names: readonly string[]) => {
    const folder = join(scratch.path, `resource-x-v${version}`);
    await mkdir(folder);
    await writeFile(join(folder, "PulumiPlugin.yaml"), text);
    for (const name of names) await writeFile(join(folder, name), "");
  };
  await put("1.0.0", "runtime: dotnet\n");
  await put("2.0.0", "runtime:\n  name: java\n");
  await put("3.0.0", "runtime: go\n");
  await put("4.0.0", "runtime: constructor\n");
  const python = (option: string) => `runtime:\n  name: python\n  options:\n    ${option}\n`;
  await put("5.0.0", python("virtualenv: env"), "__main__.py", "requirements.txt");
  await put("6.0.0", python("toolchain: toString"), "__main__.py");
  const reasons = (await refusedPlugins("x", [scratch.path])).toSorted();
  expect(reasons.map((text) => text.slice(scratch.path.length + 1))).toEqual([
    expect.stringContaining('v1.0.0 has the runtime "dotnet", which is not supported: install a'),
    expect.stringContaining('v2.0.0 has the runtime "java", which is not supported'),
    "resource-x-v3.0.0 has no go.mod.",
    expect.stringMatching(/v4.0.0 .* is an executable\.$/),
    expect.stringMatching(/ env, which is not there: python3 -m venv ".*-v5.0.0.venv" && /),
    'resource-x-v6.0.0 has the toolchain "toString", and there are pip, poetry, uv.',
  ]);
  const origin = pulumiOrigin({ directories: [scratch.path] });
  const address = ProviderAddress.parse("stackwright.local/pulumi/x");
  const constraints = VersionConstraints.parse("1.0.0");
  await expect(origin.select({ address, constraints })).rejects.toThrow('has the runtime "dotnet"');
});
