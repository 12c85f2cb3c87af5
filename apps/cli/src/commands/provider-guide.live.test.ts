import { spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BootstrapCredentials } from "@stackwright/engine";
import { expect, it, onTestFinished } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";

// docs/write-a-provider.md as somebody follows it in a clone: its commands and files as they stand there, with another port.

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const GUIDE = join(ROOT, "docs/write-a-provider.md");
/** The bundler that a project has after its `npm install`. */
const BUNDLER = dirname(
  createRequire(join(ROOT, "packages/tfplugin/package.json")).resolve("rolldown/package.json"),
);

async function blocksOf(language: string): Promise<string[]> {
  const blocks = [...(await readFile(GUIDE, "utf8")).matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks.filter(([, own]) => own === language).map(([, , content = ""]) => content);
}

it("leads from an empty folder to a provider that another machine uses", {
  timeout: 480_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "write "));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await symlink(join(ROOT, "node_modules"), join(cwd, "node_modules"));
  await mkdir(join(cwd, "bin"));
  await writeFile(
    join(cwd, "bin/rolldown"),
    `#!/bin/sh\nexec "${process.execPath}" "${BUNDLER}/bin/cli.mjs" "$@"\n`,
    { mode: 0o755 },
  );
  // In a clone the libraries are there; only their installation is left out.
  await writeFile(
    join(cwd, "bin/npm"),
    '#!/bin/sh\ncase "$*" in\n  install) ;;\n  test) node --test ;;\n  "run build") eval "$(node -p \'require("./package.json").scripts.build\')" ;;\n  *) exit 64 ;;\nesac\n',
    { mode: 0o755 },
  );
  const path = [join(cwd, "bin"), join(ROOT, "node_modules/.bin"), process.env.PATH ?? ""];
  const common = { PATH: path.join(delimiter), HOME: cwd };
  const sh = (script: string, folder: string, env: object = {}) => {
    const done = spawnSync("sh", ["-ec", script], {
      cwd: folder,
      encoding: "utf8",
      env: { ...common, ...env },
    });
    expect(done.status, `${script}\n${done.stdout}${done.stderr}`).toBe(0);
    return done.stdout + done.stderr;
  };

  const [create = "", test = "", dev = "", publish = "", use = "", asFunction = "", asPlugin = ""] =
    await blocksOf("sh");
  expect((await blocksOf("sh")).length).toBe(7);
  sh(create, cwd);
  const project = join(cwd, "notes");
  expect(sh(test, project)).toContain("0 failed");

  expect(dev.trim()).toBe("stackwright provider dev");
  const running = spawnCommand(["provider", "dev"], { cwd: project });
  onTestFinished(() => running[Symbol.asyncDispose]());
  const [, variable = ""] = await running.waitFor(/export TF_REATTACH_PROVIDERS='(.*)'/);
  const attached = { TF_REATTACH_PROVIDERS: variable };
  expect(sh("stackwright up --yes", join(project, "example"), attached)).toContain("1 added");
  expect(await running.stop()).toBe(0);

  // What the packages bundle with comes with the installation that is left out here.
  await mkdir(join(project, "node_modules"));
  await symlink(BUNDLER, join(project, "node_modules/rolldown"));
  expect(sh(asFunction, project)).toContain("It declares 1 resources and 1 data sources");
  expect(await readdir(join(project, "dist"))).toContain("notes-0.1.0-functiongraph.zip");
  expect(sh(asPlugin, project)).toContain("It declares 1 resources and 1 functions");
  expect(await readdir(join(project, "dist"))).toContain(
    "pulumi-resource-notes-v0.1.0-linux-amd64.tar.gz",
  );

  const words = ["serve", "--store", "sqlite:store", "--bootstrap-file", "first.json"];
  const server = spawnCommand([...words, "--port", "0"], { cwd });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [, url = ""] = await server.waitFor(/The server is at (http:\S+)/);
  const { token } = JSON.parse(
    await readFile(join(cwd, "first.json"), "utf8"),
  ) as BootstrapCredentials;
  const server_ = { STACKWRIGHT_SERVER: url, STACKWRIGHT_TOKEN: token };
  expect(sh(publish, project, server_)).toContain("Published acme/notes 0.1.0 for linux_amd64");

  // Another machine has none of the libraries.
  const elsewhere = await mkdtempDisposable(join(tmpdir(), "elsewhere "));
  onTestFinished(() => elsewhere.remove());
  const [host = "", template = ""] = await blocksOf("hcl");
  expect(host).toContain("http://127.0.0.1:7400");
  const rc = join(elsewhere.path, "rc");
  await writeFile(rc, host.replace("http://127.0.0.1:7400", url));
  await writeFile(join(elsewhere.path, "main.tf"), template);
  const machine = { TF_CLI_CONFIG_FILE: rc, HOME: elsewhere.path, STACKWRIGHT_TOKEN: token };
  const up = sh(use, elsewhere.path, machine);
  expect(up).toContain("Installed registry.example.com/acme/notes 0.1.0 (signed");
  expect(up).toContain("Apply complete: 1 added");
  expect(await readFile(join(elsewhere.path, "notes/first.txt"), "utf8")).toBe("Used elsewhere.");
  expect(await server.stop()).toBe(0);
});
