import { execFile, execFileSync } from "node:child_process";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { cli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import { ModuleServer } from "./module-server.ts";

const run = promisify(execFile);
const real = process.env["TEST_TERRAFORM"] ?? "terraform";
const PATHS = 'output "p" { value = [path.module, path.root, basename(path.cwd)] }\n';

interface Ground {
  readonly scratch: Scratch;
  readonly server: ModuleServer;
  /** The folder of the root module, two folders down in a monorepo. */
  readonly live: string;
}

/** A monorepo, repositories, archives and a registry. */
async function ground(ctx: TestContext): Promise<Ground> {
  const version = await run(real, ["version"]).catch(() => undefined);
  ctx.skip(version === undefined, `${real} cannot be run on this machine`);
  const scratch = await Scratch.make();
  onTestFinished(async () => scratch[Symbol.asyncDispose]());
  const { folder } = scratch;
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  const git = (cwd: string, ...words: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@h.test", ...words], {
      cwd,
      encoding: "utf8",
    }).trim();
  const live = join(folder, "mono/live/prod");
  await mkdir(live, { recursive: true });
  await mkdir(join(folder, "mono/.git"));
  await write("mono/modules/x/main.tf", `module "y" { source = "../y" }\n${PATHS}`);
  await write("mono/modules/y/main.tf", PATHS);
  await symlink("modules", join(folder, "mono/linked"));
  await write("outside/main.tf", `module "in" { source = "./in" }\n${PATHS}`);
  await write("outside/in/main.tf", PATHS);
  await write("git/repo/sub/main.tf", `module "sib" { source = "../sib" }\n${PATHS}`);
  await write("git/repo/sib/main.tf", PATHS);
  const repo = join(folder, "git/repo");
  git(repo, "init", "--quiet", "--initial-branch=main");
  git(repo, "add", "--all");
  git(repo, "commit", "--quiet", "--message=one");
  git(repo, "tag", "v1.0.0");
  await write("git/repo/sib/later.tf", 'output "later" { value = 1 }');
  git(repo, "add", "--all");
  git(repo, "commit", "--quiet", "--message=two");
  await write("pack/main.tf", PATHS);
  await write("pack/modules/child/main.tf", `module "sib" { source = "../sib" }\n${PATHS}`);
  await write("pack/modules/sib/main.tf", PATHS);
  await write(
    "pack/modules/net/main.tf",
    'variable "name" {}\nresource "terraform_data" "net" { input = var.name }\nmodule "sib" { source = "../sib" }\noutput "id" { value = terraform_data.net.id }\n',
  );
  const archives: Record<string, Buffer> = {};
  for (const [name, flags] of [
    ["a.tar.gz", "-czf"],
    ["a.tar.bz2", "-cjf"],
    ["a.tar.xz", "-cJf"],
  ] as const) {
    execFileSync("tar", [flags, join(folder, name), "-C", join(folder, "pack"), "."]);
    archives[`/${name}`] = await readFile(join(folder, name));
  }
  const server = await ModuleServer.start({
    archives,
    modules: {
      "ns/net/aws": {
        versions: ["1.0.0", "1.4.0", "2.0.0", "3.0.0-beta1"],
        location: "/a.tar.gz//modules",
      },
    },
    redirects: { "/sends": "/a.tar.gz" },
    repositories: join(folder, "git"),
    token: "secret",
  });
  onTestFinished(async () => server[Symbol.asyncDispose]());
  await write(
    "rc",
    `host "mods.example.test" {\n  services = { "modules.v1" = "${server.url}/v1/" }\n}\ncredentials "mods.example.test" {\n  token = "secret"\n}\n`,
  );
  return { scratch, server, live };
}

async function terraform(
  { scratch }: Ground,
  cwd: string,
  ...words: string[]
): Promise<{ readonly code: number; readonly output: string; readonly error: string }> {
  const env = { ...scratch.env, CHECKPOINT_DISABLE: "1", TF_INPUT: "0" };
  return run(real, [...words, ...(words[0] === "show" ? [] : ["-no-color"])], {
    cwd,
    env,
    timeout: 90_000,
  }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout, error: stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      output: stdout,
      error: stderr,
    }),
  );
}

/** The values that outputs are planned to have. */
function plannedOutputs(text: string): unknown {
  const { planned_values } = JSON.parse(text) as { planned_values: { outputs: unknown } };
  return planned_values.outputs;
}

function listing(text: string): readonly string[] {
  const { modules } = JSON.parse(text) as { modules: readonly unknown[] };
  return modules.map((one) => JSON.stringify(one)).toSorted();
}

const SOURCES: Readonly<Record<string, (ground: Ground) => string>> = {
  "a module of the monorepo": () => "../../modules/x",
  "a module behind a link": () => "../../linked/x",
  "an absolute path": ({ scratch }) => `${scratch.folder.replaceAll(" ", "%20")}/outside`,
  "a tag of a repository": ({ server }) => `git::${server.url}/git/repo/.git//sub?ref=v1.0.0`,
  "a branch with depth": ({ server }) => `git::${server.url}/git/repo/.git//sub?ref=main&depth=1`,
  "the head of a repository": ({ server }) => `git::${server.url}/git/repo/.git//sib`,
  "tar.gz": ({ server }) => `${server.url}/a.tar.gz//modules/ch*`,
  "tar.bz2": ({ server }) => `${server.url}/a.tar.bz2`,
  "tar.xz": ({ server }) => `${server.url}/a.tar.xz//modules/child`,
  "an archive behind an address": ({ server }) => `${server.url}/sends`,
  "a module of a registry": () => 'mods.example.test/ns/net/aws//child"\n  version = "~> 1.0',
  "an exact pre-release": () => 'mods.example.test/ns/net/aws//sib"\n  version = "3.0.0-beta1',
};

describe("sources of modules, side by side with the real command", () => {
  let here: Ground;

  beforeEach(async (ctx) => {
    here = await ground(ctx);
  });

  it("has the same modules, paths and plans for every kind of source", async () => {
    const { scratch, live } = here;
    const names = Object.values(SOURCES).map((_, at) => `m${at}`);
    const calls = Object.values(SOURCES).map(
      (source, at) => `module "m${at}" {\n  source = "${source(here).replaceAll("%20", " ")}"\n}`,
    );
    const outputs = names.map((name) => `output "${name}" { value = module.${name}.p }`);
    await writeFile(join(live, "main.tf"), [...calls, ...outputs].join("\n"));
    const manifest = join(live, ".terraform/modules/modules.json");

    expect(await terraform(here, live, "init")).toMatchObject({ code: 0, error: "" });
    expect(await terraform(here, live, "plan", "-out=theirs.plan")).toMatchObject({ code: 0 });
    const theirs = plannedOutputs(
      (await terraform(here, live, "show", "-json", "theirs.plan")).output,
    );
    const listed = (await terraform(here, live, "modules", "-json")).output;
    const expected: unknown = JSON.parse(await readFile(manifest, "utf8"));

    // What the real command installed is used as it is.
    const env = { STACKWRIGHT_OFFLINE: "1" };
    const reused = await cli(scratch, ["plan", "-out=reused.plan"], { cwd: live, env });
    expect(reused).toMatchObject({ code: 0, error: "" });
    const first = await cli(scratch, ["show", "-json", "reused.plan"], { cwd: live });
    expect(plannedOutputs(first.output)).toEqual(theirs);

    await rm(join(live, ".terraform"), { recursive: true });
    expect(await cli(scratch, ["init"], { cwd: live })).toMatchObject({ code: 0, error: "" });
    expect(JSON.parse(await readFile(manifest, "utf8"))).toEqual(expected);
    expect(await cli(scratch, ["plan", "-out=ours.plan"], { cwd: live })).toMatchObject({
      code: 0,
    });
    const ours = await cli(scratch, ["show", "-json", "ours.plan"], { cwd: live });
    expect(plannedOutputs(ours.output)).toEqual(theirs);
    const modules = await cli(scratch, ["modules", "-json"], { cwd: live });
    // The real command lists them in any order.
    expect(listing(modules.output)).toEqual(listing(listed));

    // And the other way round.
    expect(await terraform(here, live, "plan")).toMatchObject({ code: 0 });

    // A fresh checkout with the lock file needs no network.
    await rm(join(live, ".terraform"), { recursive: true });
    const again = await cli(scratch, ["init"], { cwd: live, env });
    expect(again).toMatchObject({ code: 0, error: "" });
  });

  it("adopts with an empty plan what was made with modules of a registry, from a fresh checkout", async () => {
    const { scratch, live } = here;
    const source = 'source = "mods.example.test/ns/net/aws//net"\n  version = "~> 1.0"';
    await writeFile(
      join(live, "main.tf"),
      `variable "env" {}\nmodule "net" {\n  ${source}\n  name = var.env\n}\nmodule "each" {\n  for_each = toset(["a", "b"])\n  ${source}\n  name = "\${var.env}-\${each.key}-\${module.net.id}"\n}\noutput "ids" { value = [for one in module.each : one.id] }\n`,
    );
    await writeFile(join(live, "terraform.tfvars"), 'env = "prod"\n');
    expect(await terraform(here, live, "init")).toMatchObject({ code: 0, error: "" });
    expect(await terraform(here, live, "apply", "-auto-approve")).toMatchObject({ code: 0 });
    await rm(join(live, ".terraform"), { recursive: true });

    // The trap: nothing is planned over a state that was not adopted.
    const early = await cli(scratch, ["plan"], { cwd: live });
    expect(early).toMatchObject({ code: 1 });
    expect(early.error).toContain("ENGINE_STATE_NOT_ADOPTED");
    const adopted = await cli(scratch, ["adopt", "--yes"], { cwd: live });
    expect(adopted).toMatchObject({ code: 0 });
    const plan = await cli(scratch, ["plan", "-detailed-exitcode"], { cwd: live });
    expect(plan).toMatchObject({ code: 0, error: "" });
    const { output } = await cli(scratch, ["state", "list"], { cwd: live });
    expect(output.trim().split("\n")).toEqual([
      'module.each["a"].terraform_data.net',
      'module.each["b"].terraform_data.net',
      "module.net.terraform_data.net",
    ]);
  });

  it.each([
    ["modules/x", "Invalid module source address"],
    ["git::URL/git/repo/.git?ref=none", "Failed to download module"],
    ["URL/a.tar.gz?checksum=md5:00000000000000000000000000000000", "Failed to download module"],
    ["URL/nothing", "Failed to download module"],
    ["URL/a.tar.gz//none", "Failed to expand subdir globs"],
    ['mods.example.test/ns/net/aws"\n  version = "> 9', "Unresolvable module version constraint"],
    ["mods.example.test/ns/none/aws", "Module not found"],
    ["URL/a.tar.gz//modules/out", "Local module path escapes module package"],
  ])("fails for %s with the same summary", async (source, summary) => {
    const { scratch, live, server } = here;
    let text = source.replace("URL", server.url);
    if (source.endsWith("/out")) {
      await mkdir(join(scratch.folder, "pack/modules/out"));
      await writeFile(
        join(scratch.folder, "pack/modules/out/main.tf"),
        'module "x" { source = "../../../x" }',
      );
      execFileSync("tar", [
        "-czf",
        join(scratch.folder, "out.tgz"),
        "-C",
        join(scratch.folder, "pack"),
        ".",
      ]);
      text = `${scratch.folder}/out.tgz//modules/out`;
    }
    await writeFile(join(live, "main.tf"), `module "m" {\n  source = "${text}"\n}\n`);
    const theirs = await terraform(here, live, "init");
    expect([theirs.code, theirs.error]).toEqual([1, expect.stringContaining(summary)]);
    await rm(join(live, ".terraform"), { recursive: true, force: true });
    const ours = await cli(scratch, ["init"], { cwd: live });
    expect(ours.code).toBe(1);
    const shown = ours.output + ours.error;
    expect(shown).toContain(summary);
    expect(shown).toMatch(/main\.tf line [12]|main\.tf:[12]/);
  });
});
