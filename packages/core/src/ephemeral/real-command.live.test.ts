import { execFile } from "node:child_process";
import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { encodePlan } from "../plan/plan-codec.ts";
import { installedOrigin } from "../providers/installed-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

/*
 * The engine and the real command run equal configurations with the same provider, which writes down every opening and closing of
 * a lease, and what it was told.
 */

const run = promisify(execFile);
const lab = process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "";
const random = process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "";

async function whyNot(): Promise<string | undefined> {
  if (lab === "") return "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set";
  if (random === "") return "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set";
  try {
    const { stdout } = await run("terraform", ["version", "-json"]);
    const { terraform_version: version } = JSON.parse(stdout) as { terraform_version: string };
    return version.startsWith("1.11.")
      ? undefined
      : `terraform ${version} is not the recorded 1.11`;
  } catch {
    return "the command terraform is not installed";
  }
}

const HEAD = (directory: string): string => `
  terraform {
    required_providers {
      lab    = { source = "example.com/acme/lab" }
      random = { source = "hashicorp/random" }
    }
  }
  variable "directory" { default = ${JSON.stringify(directory)} }
`;
const LAB = 'provider "lab" { directory = var.directory }\n';

/** What a run left behind: what the provider wrote down, the objects, and everything that is kept of it. */
interface Left {
  readonly leases: readonly string[];
  readonly objects: readonly unknown[];
  readonly kept: string;
}

async function leftIn(directory: string, kept: string): Promise<Left> {
  const log = await readFile(join(directory, "leases.log"), "utf8").catch(() => "");
  const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith(".json"));
  const objects = await Promise.all(
    names.map(async (name): Promise<{ readonly name: string }> => {
      const { id: _id, ...object } = JSON.parse(await readFile(join(directory, name), "utf8"));
      return object;
    }),
  );
  // Files are named by ids, which are random.
  objects.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { leases: log.split("\n").slice(0, -1), objects, kept };
}

/** Plans and applies a configuration with the real command, and destroys it. */
async function withCommand(folder: string, text: (directory: string) => string) {
  const directory = join(folder, "objects");
  await writeFile(
    join(folder, "cli.tfrc"),
    `provider_installation {
       dev_overrides {
         "example.com/acme/lab" = "${dirname(lab)}"
         "hashicorp/random"     = "${dirname(random)}"
       }
       direct {}
     }`,
  );
  await writeFile(join(folder, "main.tf"), text(directory));
  const terraform = async (...args: string[]) =>
    run("terraform", [...args, "-no-color"], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        TF_CLI_CONFIG_FILE: join(folder, "cli.tfrc"),
        CHECKPOINT_DISABLE: "1",
      },
    });
  await terraform("plan", "-out=p");
  const plan = (await terraform("show", "-json", "p")).stdout;
  await terraform("apply", "p");
  const state = await readFile(join(folder, "terraform.tfstate"), "utf8");
  const applied = await leftIn(directory, plan + state);
  await terraform("destroy", "-auto-approve");
  return { applied, destroyed: await leftIn(directory, "") };
}

/** The same with the engine. */
async function withEngine(folder: string, text: (directory: string) => string) {
  const directory = join(folder, "objects");
  const { state } = createTestState();
  const providers = new Map([
    ["example.com/acme/lab", { version: undefined, executable: lab }],
    ["registry.terraform.io/hashicorp/random", { version: undefined, executable: random }],
  ]);
  const engine = createEngine({ origins: [installedOrigin({ providers })] });
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(text(directory)),
  });
  const variables = new Map(
    [...configuration.root.config.variables].flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  );
  const given = { state, configuration, variables };
  const good = (diagnostics: readonly { readonly severity: string }[]): void =>
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const apply = async (mode: "normal" | "destroy"): Promise<string> => {
    const { plan, diagnostics } = await engine.plan({ ...given, options: { mode } });
    good(diagnostics);
    if (plan === undefined) throw new Error("there is no plan");
    const result = await engine.apply({ ...given, plan });
    good(result.diagnostics);
    return new TextDecoder().decode(encodePlan(plan));
  };
  const plan = await apply("normal");
  const { objects } = await state.read();
  const kept = [...objects.values()].map(({ value }) => value?.json).join("\n");
  const applied = await leftIn(directory, plan + kept);
  expect((await engine.plan(given)).plan?.changes.every(({ action }) => action === "no-op")).toBe(
    true,
  );
  await writeFile(
    join(directory, "leases.log"),
    applied.leases.map((line) => `${line}\n`).join(""),
  );
  await apply("destroy");
  return { applied, destroyed: await leftIn(directory, "") };
}

async function both(text: (directory: string) => string) {
  await using ours = await mkdtempDisposable(join(tmpdir(), "ephemeral-engine-"));
  await using theirs = await mkdtempDisposable(join(tmpdir(), "ephemeral-command-"));
  const command = await withCommand(theirs.path, text);
  const engine = await withEngine(ours.path, text);
  return { command, engine };
}

const object = (name: string, body = ""): string =>
  `resource "lab_object" "${name}" {\n name = "${name}"\n${body}\n}\n`;

describe("ephemeral resources of real providers", () => {
  it("are opened and closed as by the real command, and what they say is kept nowhere", {
    timeout: 120_000,
  }, async (ctx) => {
    const reason = await whyNot();
    ctx.skip(reason !== undefined, reason ?? "");
    const { command, engine } = await both(
      (directory) => `${HEAD(directory)}${LAB}
        ephemeral "lab_lease" "l" { name = "one" }
        ${object("a", "password = ephemeral.lab_lease.l.secret\npassword_version = 1")}`,
    );
    expect(command.applied.leases).toEqual(["open one", "close one", "open one", "close one"]);
    expect(engine.applied.leases).toEqual(command.applied.leases);
    expect(engine.applied.objects).toEqual(command.applied.objects);
    expect(JSON.stringify(engine.applied.objects)).toContain("secret-of-one");
    for (const { applied } of [command, engine])
      expect(applied.kept).not.toContain("secret-of-one");
    expect(engine.destroyed.objects).toEqual([]);
  });

  it("are opened during apply where they are made from what is not there before", {
    timeout: 120_000,
  }, async (ctx) => {
    const reason = await whyNot();
    ctx.skip(reason !== undefined, reason ?? "");
    const { command, engine } = await both(
      (directory) => `${HEAD(directory)}${LAB}
        ${object("a")}
        ephemeral "lab_lease" "l" { name = "by-\${lab_object.a.revision}" }
        ${object("b", "password = ephemeral.lab_lease.l.secret\npassword_version = 1")}`,
    );
    expect(command.applied.leases).toEqual(["open by-1", "close by-1"]);
    expect(engine.applied.leases).toEqual(command.applied.leases);
    expect(engine.applied.objects).toEqual(command.applied.objects);
  });

  it("configure providers, for which they stay open, also at the end of everything", {
    timeout: 120_000,
  }, async (ctx) => {
    const reason = await whyNot();
    ctx.skip(reason !== undefined, reason ?? "");
    const { command, engine } = await both(
      (directory) => `${HEAD(directory)}
        ephemeral "random_password" "p" { length = 20 }
        ephemeral "lab_lease" "l" {
          provider = lab.plain
          name     = length(ephemeral.random_password.p.result) == 20 ? "twenty" : "other"
        }
        provider "lab" {
          alias     = "plain"
          directory = var.directory
        }
        provider "lab" {
          directory = var.directory
          token     = ephemeral.lab_lease.l.secret
        }
        ${object("a")}`,
    );
    const once = ["open twenty", "close twenty"];
    expect(command.applied.leases).toEqual([...once, ...once]);
    expect(engine.applied.leases).toEqual(command.applied.leases);
    expect(engine.applied.objects).toEqual(command.applied.objects);
    // The command makes a plan of everything before it plans the end of it, which is one walk more.
    const times = (count: number) => Array.from({ length: count }, () => once).flat();
    expect(command.destroyed.leases).toEqual(times(5));
    expect(engine.destroyed.leases).toEqual(times(4));
    expect(engine.destroyed.objects).toEqual([]);
  });
});
