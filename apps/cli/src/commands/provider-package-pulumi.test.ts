import { execFile } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import {
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { Platform } from "@stackwright/provider-source";
import { beforeAll, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
/** The bundler that a project has after its `npm install`. */
const BUNDLER = dirname(
  createRequire(join(ROOT, "packages/tfplugin/package.json")).resolve("rolldown/package.json"),
);
const { os, arch } = Platform.ofNode();
const env = { PATH: process.env.PATH };
const archiveName = (name: string, version: string, platform = `${os}-${arch}`) =>
  `pulumi-resource-${name}-v${version}-${platform}.tar.gz`;

describe("provider package --pulumi", { timeout: 180_000 }, () => {
  let project: string;
  let printed: string;

  beforeAll(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "plug-ins "));
    await symlink(join(ROOT, "node_modules"), join(scratch.path, "node_modules"));
    const made = await tryCommand(["provider", "new", "example.com/acme/notes", "notes"], {
      cwd: scratch.path,
    });
    expect(made.code, made.error).toBe(0);
    project = join(scratch.path, "notes");
    await mkdir(join(project, "node_modules"));
    await symlink(BUNDLER, join(project, "node_modules/rolldown"));
    const done = await tryCommand(["provider", "package", "--pulumi"], { cwd: project, env });
    expect(done.code, done.output + done.error).toBe(0);
    printed = done.output;
    return async () => scratch.remove();
  }, 180_000);

  /** A machine that has nothing of the project, with a template that uses the plug-in. */
  async function elsewhere(server: string | undefined) {
    const scratch = await mkdtempDisposable(join(tmpdir(), "elsewhere "));
    const home = join(scratch.path, "home");
    const cwd = join(scratch.path, "work");
    await mkdir(cwd);
    const { plugins } = JSON.parse(
      printed.slice(printed.indexOf("{"), printed.lastIndexOf("}") + 1),
    ) as {
      plugins: Record<string, { server: string; checksums: Record<string, string> }>;
    };
    const [entry] = Object.values(plugins);
    if (entry === undefined) throw new Error("the entry of the plug-in was not printed");
    entry.server = server ?? entry.server;
    await writeFile(join(cwd, "stackwright.providers.json"), JSON.stringify({ plugins }));
    await writeFile(
      join(cwd, "main.tf"),
      `terraform {
  required_providers {
    notes = {
      source  = "stackwright.local/pulumi/notes"
      version = "0.1.0"
    }
  }
}
provider "notes" {
  folder = ${JSON.stringify(join(cwd, "notes"))}
}
resource "notes_notes_note" "todo" {
  name = "todo"
  text = "Packed for Pulumi."
}
`,
    );
    const run = async (words: readonly string[], more: NodeJS.ProcessEnv = {}) => {
      const done = await tryCommand(words, {
        cwd,
        env: { ...env, HOME: scratch.path, PULUMI_HOME: home, ...more },
      });
      expect(done.code, done.output + done.error).toBe(0);
      return done.output;
    };
    return { cwd, home, run, [Symbol.asyncDispose]: () => scratch.remove() };
  }

  it("makes an archive for each platform, as plug-in servers have them", async () => {
    expect(await readdir(join(project, "dist"))).toEqual(
      ["darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64"].map((platform) =>
        archiveName("notes", "0.1.0", platform),
      ),
    );
    expect(printed).toContain("It declares 1 resources and 1 functions.");
  });

  it("is installed from the URL of a plug-in server, with its checksum, and used without the project", async () => {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url ?? "");
      const name = request.url?.split("/").at(-1) ?? "";
      createReadStream(join(project, "dist", name))
        .on("error", () => response.writeHead(404).end())
        .pipe(response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/\${NAME}/v\${VERSION}`;
    try {
      await using machine = await elsewhere(url);
      expect(await machine.run(["init"])).toContain("Installed the plug-in notes 0.1.0 in ");
      expect(requests).toEqual([`/notes/v0.1.0/${archiveName("notes", "0.1.0")}`]);
      const installed = join(machine.home, "plugins/resource-notes-v0.1.0");
      expect((await readdir(installed)).toSorted()).toEqual([
        "README.md",
        "provider.mjs",
        "pulumi-resource-notes",
      ]);
      expect(await readFile(join(machine.cwd, ".terraform.lock.hcl"), "utf8")).toContain(
        'provider "stackwright.local/pulumi/notes" {\n  version     = "0.1.0"',
      );
      expect(await machine.run(["up", "--yes"])).toContain("1 added");
      expect(await readFile(join(machine.cwd, "notes/todo.txt"), "utf8")).toBe(
        "Packed for Pulumi.",
      );
      expect(await machine.run(["destroy", "--yes"])).toContain("1 destroyed");
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it("is installed from a folder on a machine without a network", async () => {
    await using machine = await elsewhere(undefined);
    const offline = { STACKWRIGHT_PULUMI_SERVER: join(project, "dist") };
    expect(await machine.run(["init"], offline)).toContain("Installed the plug-in notes 0.1.0 in ");
    expect(await machine.run(["up", "--yes"], offline)).toContain("1 added");
  });

  it("makes the same bytes again", async () => {
    const again = await tryCommand(
      [
        "provider",
        "package",
        "--pulumi",
        "--no-start",
        "--platform",
        "linux_amd64",
        "--out",
        "again",
      ],
      { cwd: project, env },
    );
    expect(again.code, again.error).toBe(0);
    expect(again.output).toContain("It was not started, so its schema is not known.");
    const name = archiveName("notes", "0.1.0", "linux-amd64");
    const [one, two] = [
      await readFile(join(project, "dist", name)),
      await readFile(join(project, "again", name)),
    ];
    expect(one.equals(two)).toBe(true);
  });

  it("packs a program under its own name, for the platforms that it is for", async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "program "));
    const program = join(scratch.path, "pulumi-resource-chatty");
    await writeFile(
      program,
      `#!/bin/sh\nexec "${process.execPath}" "${TEST_PROGRAMS.chattyProvider}" "$@"\n`,
      { mode: 0o755 },
    );
    const packed = async (...words: readonly string[]) =>
      tryCommand(["provider", "package", "--pulumi", ...words], { cwd: scratch.path, env });
    const done = await packed(
      "pulumi-resource-chatty",
      "--version",
      "1.2.0",
      "--platform",
      "linux_arm64",
      "--no-start",
    );
    expect(done.code, done.error).toBe(0);
    expect(await readdir(join(scratch.path, "dist"))).toEqual([
      archiveName("chatty", "1.2.0", "linux-arm64"),
    ]);
    await rm(scratch.path, { recursive: true });
  });

  it("packs a binary for one platform, as its bytes are those of one", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "binary "));
    await writeFile(join(scratch.path, "pulumi-resource-chatty"), "\x7fELF and more");
    const packed = async (...platforms: readonly string[]) =>
      tryCommand(
        "provider package --pulumi pulumi-resource-chatty --version 1.2.0 --no-start"
          .split(" ")
          .concat(platforms.flatMap((platform) => ["--platform", platform])),
        { cwd: scratch.path, env },
      );
    const several = await packed("linux_amd64", "darwin_arm64");
    expect(several.code).toBe(1);
    expect(several.error).toContain("A binary is for one platform");
    expect(several.error).toContain("linux_amd64, darwin_arm64");
    await expect(readdir(join(scratch.path, "dist"))).rejects.toMatchObject({ code: "ENOENT" });
    expect((await packed("windows_amd64")).code).toBe(0);
    expect(await readdir(join(scratch.path, "dist"))).toEqual([
      archiveName("chatty", "1.2.0", "windows-amd64"),
    ]);
  });

  it("packs a module that is named by its whole path, with a program that starts through links", async () => {
    const file = join(project, "stackwright.provider.json");
    const before = await readFile(file, "utf8");
    const pulumi = join(project, "src/pulumi.ts");
    await writeFile(file, JSON.stringify({ ...(JSON.parse(before) as object), pulumi }));
    try {
      const words = ["--no-start", "--platform", "linux_amd64", "--out", "linked"];
      const done = await tryCommand(["provider", "package", "--pulumi", ...words], {
        cwd: project,
        env,
      });
      expect(done.code, done.output + done.error).toBe(0);
    } finally {
      await writeFile(file, before);
    }
    await using scratch = await mkdtempDisposable(join(tmpdir(), "links "));
    const plugin = join(scratch.path, "plug-in");
    await mkdir(plugin);
    await promisify(execFile)("tar", [
      "-xzf",
      join(project, "linked", archiveName("notes", "0.1.0", "linux-amd64")),
      "-C",
      plugin,
    ]);
    await symlink("plug-in/pulumi-resource-notes", join(scratch.path, "relative"));
    await mkdir(join(scratch.path, "bin"));
    await symlink(join(scratch.path, "relative"), join(scratch.path, "bin/notes"));
    await writeFile(join(plugin, "provider.mjs"), 'console.log("started", process.argv[2]);\n');
    const started = await promisify(execFile)(join(scratch.path, "bin/notes"), ["a b"], { env });
    expect(started.stdout).toBe("started a b\n");
  });

  it.each([
    [["--for", "functiongraph"], "--for and --env are for functions"],
    [["--platform", "windows_amd64"], "A script does not run as a plug-in on Windows"],
    [["--platform", "everywhere"], '"everywhere" is not a platform'],
    [["--version", "soon"], '"soon" is not a version'],
    [["absent-program", "--version", "1.0.0"], 'There is no file "absent-program"'],
    [
      ["package.json", "--version", "1.0.0"],
      'The program "package.json" is not named after a package',
    ],
  ])("refuses %s", async (words, problem) => {
    const done = await tryCommand(["provider", "package", "--pulumi", ...words], {
      cwd: project,
      env,
    });
    expect(done.code).toBe(1);
    expect(done.error).toContain(problem);
  });

  it("says where a plug-in that does not start fails, and where its schema is another's", async () => {
    const module = join(project, "src/pulumi.ts");
    const code = await readFile(module, "utf8");
    const packed = async () =>
      tryCommand(["provider", "package", "--pulumi", "--out", "broken"], { cwd: project, env });
    await writeFile(module, 'console.error("a broken start");\nprocess.exit(3);\n');
    const broken = await packed();
    expect(broken.code).toBe(1);
    expect(broken.error).toContain("The packed plug-in does not start");
    expect(broken.error).toContain("a broken start");
    await writeFile(module, code.replace('package: "notes"', 'package: "other"'));
    const other = await packed();
    expect(other.code).toBe(1);
    expect(other.error).toContain(
      "The schema of the plug-in is that of other 0.1.0, and not of notes 0.1.0",
    );
    await writeFile(module, code);
    await expect(readdir(join(project, "broken"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
