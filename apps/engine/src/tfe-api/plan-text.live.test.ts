import { spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { PLAN_TEXT_CASES } from "../testing/plan-text-cases.ts";
import { startCloud } from "../testing/start-cloud.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

// What `terraform plan` prints of a plan that the server made is what it prints of one that it made itself.

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
/** Providers beside it, by their names. */
const OTHERS = {
  random: process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"] ?? "",
  tls: process.env["TEST_TOOL_TERRAFORM_PROVIDER_TLS"] ?? "",
};
const SECRETS = ["secret-of-var-1", "secret-of-var-2", "secret-of-schema-1", "secret-of-schema-2"];

/** What differs between the versions of the configuration. */
interface Given {
  readonly who: string;
  readonly tags: string;
  /** Which of the secrets it has. */
  readonly number: 1 | 2;
}

const FIRST: Given = { who: "ann", tags: 'x = "1"', number: 1 };
const SECOND: Given = { who: "bob", tags: 'x = "2", y = "3"', number: 2 };

const configuration = ({ who, tags, number }: Given): string => `
variable "secret" {
  default   = "secret-of-var-${number}"
  sensitive = true
}
resource "terraform_data" "who" { input = "${who}" }
resource "terraform_data" "replaced" {
  input            = { a = 1, b = ["x", "${who}"] }
  triggers_replace = "${who}"
}
resource "lab_object" "a" {
  name    = "a"
  tags    = { ${tags} }
  network = { cidr = "10.0.0.0/8", secret = "secret-of-schema-${number}" }
  rules   = [{ port = 1, protocol = "tcp" }, { port = 2, protocol = "udp" }]
  members = { one = { role = "first" } }
}
resource "lab_object" "sensitive" {
  name    = "sensitive"
  tags    = { open = "1", hidden = var.secret }
  payload = { open = 1, hidden = [var.secret], list = var.secret == "" ? [] : [var.secret] }
}
resource "lab_object" "unknown" { name = "of-\${terraform_data.who.id}" }
resource "terraform_data" "revision" { input = lab_object.a.revision }
data "lab_objects" "all" { prefix = "none" }
output "who" { value = terraform_data.who.output }
output "hidden" {
  value     = { of = var.secret }
  sensitive = true
}
output "objects" { value = data.lab_objects.all.objects }
`;

/** The same configuration for a command on its own, and for one whose plans the server makes. */
async function startBoth(others: readonly (keyof typeof OTHERS)[] = []) {
  const scratch = await mkdtemp(join(tmpdir(), "plan-text-"));
  onTestFinished(() => rm(scratch, { recursive: true, force: true }));
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  const providers = ["lab", ...others] as const;
  for (const name of providers) {
    const packages = join(scratch, `mirror/example.com/acme/${name}/1.0.0`, platform);
    await mkdir(packages, { recursive: true });
    const program = name === "lab" ? LAB : OTHERS[name];
    await copyFile(program, join(packages, `terraform-provider-${name}_v1.0.0`));
  }
  const mirror = JSON.stringify(join(scratch, "mirror"));
  const install = `provider_installation {\n  filesystem_mirror { path = ${mirror} }\n}\n`;
  const environment = { TF_CLI_CONFIG_FILE: join(scratch, "rc") };
  await writeFile(environment.TF_CLI_CONFIG_FILE, install);
  const cloud = await startCloud(COMMAND, "in-process", environment);
  const workspace = await cloud.workspace("demo", "remote");
  const local = await terraformRoot(COMMAND, environment);
  const remote = cloud.root;
  const rc = remote.env["TF_CLI_CONFIG_FILE"] ?? "";
  await writeFile(rc, `${await readFile(rc, "utf8")}${install}`);
  const required = providers
    .map((name) => `    ${name} = { source = "example.com/acme/${name}" }\n`)
    .join("");
  for (const [name, root] of Object.entries({ local, remote })) {
    const lab = join(scratch, name);
    await mkdir(lab);
    await root.write(
      `terraform {\n  required_providers {\n${required}  }\n}\nprovider "lab" { directory = ${JSON.stringify(lab)} }\n`,
      "providers.tf",
    );
  }
  await remote.write(cloud.block("cloud", 'name = "demo"'), "cloud.tf");
  const write = async (given: Given, more = ""): Promise<void> => {
    for (const root of [local, remote]) await root.write(configuration(given) + more);
  };
  await write(FIRST);
  await local.ok("init");
  await remote.ok("init");
  return {
    cloud,
    workspace,
    local,
    remote,
    write,
    /** What both print, the command on its own first. */
    both: async (...words: readonly string[]): Promise<readonly [Printed, Printed]> => {
      const [theirs, ours] = await Promise.all([local.exec(...words), remote.exec(...words)]);
      expect(ours.code, ours.text).toBe(theirs.code);
      return [printed(theirs.text), printed(behindHead(ours.text))];
    },
    /** What both print, which is the same. */
    same: async (...words: readonly string[]): Promise<Printed> => {
      const [theirs, ours] = [await local.exec(...words), await remote.exec(...words)];
      for (const secret of SECRETS) expect(ours.text).not.toContain(secret);
      const found = printed(behindHead(ours.text));
      expect(found).toEqual(printed(theirs.text));
      expect(ours.code).toBe(theirs.code);
      return found;
    },
    /** Changes the object of the provider with the name `a` behind its back. */
    tamper: async (change: object): Promise<void> => {
      for (const name of ["local", "remote"]) {
        for (const file of await readdir(join(scratch, name))) {
          const path = join(scratch, name, file);
          if (!file.endsWith(".json")) continue;
          const record = JSON.parse(await readFile(path, "utf8")) as { readonly name: string };
          if (record.name === "a") await writeFile(path, JSON.stringify({ ...record, ...change }));
        }
      }
    },
  };
}

/** The last of the lines with which a log begins. */
const HEAD = "The server executes the run.\n\n";

interface Printed {
  /** Reads of objects, in whose order nothing lies. */
  readonly reads: readonly string[];
  readonly plan: string;
  /** What a command that plans itself prints last, and one that follows a log where it comes. */
  readonly diagnostics: string;
}

/** Takes what a command printed apart, without ids and without the frames of diagnostics. */
function printed(text: string): Printed {
  const lines = text
    .replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|(?<![0-9a-z])[0-9a-f]{16}(?![0-9a-z])/g,
      "ID",
    )
    .split("\n");
  const isRead = (line: string): boolean =>
    /: (Refreshing|Reading|Read complete|Preparing import)/.test(line);
  const reads = lines.filter(isRead).toSorted();
  const rest = lines.filter((line) => !isRead(line)).join("\n");
  const boxes = [...rest.matchAll(/^╷\n((?:│.*\n)+)╵$/gm)].map(([, box = ""]) =>
    box.replaceAll(/^│ ?/gm, ""),
  );
  const [plan = "", ...plain] = rest
    .replaceAll(/^╷\n(?:│.*\n)+╵$/gm, "")
    .split(/^(?=(?:Warning|Error): )/m);
  return { reads, plan: plan.trim(), diagnostics: [...boxes, ...plain].join("\n").trim() };
}

/** What a command printed behind the head of the log. */
function behindHead(text: string): string {
  expect(text).toContain(HEAD);
  return text.slice(text.indexOf(HEAD) + HEAD.length);
}

describe("a plan of the server, printed by the command", () => {
  beforeEach((context) => {
    context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    const { status } = spawnSync(COMMAND, ["version"]);
    context.skip(status !== 0, `${COMMAND} cannot be run on this machine`);
  });

  it("has the text of a plan of its own: creates, no changes, drift, updates, replacements, deletes", {
    timeout: 240_000,
  }, async () => {
    const { local, remote, write, same, tamper } = await startBoth();
    const created = await same("plan");
    expect(created.plan).toContain("Plan: 6 to add, 0 to change, 0 to destroy.");
    expect(created.plan).toContain("+ secret = (sensitive value)");
    expect(created.plan).toContain("+ hidden  = (sensitive value)");
    expect(created.reads).toEqual([
      "data.lab_objects.all: Read complete after 0s",
      "data.lab_objects.all: Reading...",
    ]);
    await local.ok("apply", "-auto-approve");
    await remote.ok("apply", "-auto-approve");
    const unchanged = await same("plan");
    expect(unchanged.plan).toMatch(/^No changes\. Your infrastructure matches the configuration\./);
    expect(unchanged.reads).toContain("lab_object.a: Refreshing state... [id=ID]");

    await tamper({ revision: 9 });
    expect((await same("plan")).plan).toContain("Objects have changed outside of Terraform");
    const refreshed = await same("plan", "-refresh-only");
    expect(refreshed.plan).toContain("This is a refresh-only plan");

    await write(SECOND);
    const changed = await same("plan");
    expect(changed.plan).toContain("# terraform_data.replaced must be replaced");
    // Which secrets change is seen, as by a plan of the command.
    expect(changed.plan).toContain("~ list   = (sensitive value)");
    expect(changed.plan).toContain("~ hidden  = (sensitive value)");
    // Nothing of what is destroyed needs a data source, which the command reads nevertheless.
    const [theirs, ours] = [
      await local.ok("plan", "-destroy"),
      await remote.ok("plan", "-destroy"),
    ];
    expect(printed(behindHead(ours)).plan).toBe(printed(theirs).plan);
    expect(ours).toContain("Plan: 0 to add, 0 to change, 6 to destroy.");
  });

  it("has its warnings and errors, with their lines of source", { timeout: 120_000 }, async () => {
    const { local, remote, write, same } = await startBoth();
    await write(
      FIRST,
      `check "who" {\n  assert {\n    condition     = terraform_data.who.input == "x"\n    error_message = "It is not x."\n  }\n}\n`,
    );
    const warned = await same("plan");
    expect(warned.diagnostics).toContain(
      "Warning: Check block assertion failed\n\n  on main.tf line",
    );
    expect(warned.diagnostics).toContain('terraform_data.who.input is "ann"');

    await write(FIRST, `resource "lab_object" "bad" {\n  name    = "bad"\n  nothing = 1\n}\n`);
    // The command checks everything before it reads something.
    const [theirs, ours] = [await local.exec("plan"), await remote.exec("plan")];
    expect([theirs.code, ours.code]).toEqual([1, 1]);
    const { diagnostics } = printed(behindHead(ours.text));
    expect(diagnostics).toBe(printed(theirs.text).diagnostics);
    expect(diagnostics).toContain("nothing = 1");
    expect(ours.text).not.toContain("The plan failed");

    await write(FIRST, `output "cut" { value = substr(terraform_data.who.input, "x", 1) }\n`);
    const called = await remote.exec("plan");
    expect(called.text).toContain("while calling substr(str, offset, length)");
    expect(called.text).not.toContain('"@level"');
  });

  it.each(PLAN_TEXT_CASES)(
    "has the text of a plan of its own: $name",
    { timeout: 120_000 },
    async ({ before, tamper: change, after, words = [], differs = [], shows }) => {
      const all = [before, after].join("\n");
      const used = (["random", "tls"] as const).filter((name) => all.includes(`"${name}_`));
      expect(used.filter((name) => OTHERS[name] === "")).toEqual([]);
      const { local, remote, both, tamper } = await startBoth(used);
      const put = async (text: string) =>
        Promise.all([local, remote].map(async (root) => root.write(text)));
      if (before !== undefined) {
        await put(before);
        await Promise.all([local, remote].map(async (root) => root.ok("apply", "-auto-approve")));
      }
      if (change !== undefined) await tamper(change);
      if (after !== undefined) await put(after);
      const [theirs, ours] = await both("plan", ...words);
      expect(ours.plan).toContain(shows);
      const compared = ({ reads, plan, diagnostics }: Printed) => ({
        plan,
        ...(!differs.includes("reads") && { reads }),
        // Which ones there are is the same in any case.
        diagnostics: differs.includes("diagnostics")
          ? new Set(diagnostics.match(/^(Warning|Error): (?!Argument is deprecated).*$/gm))
          : diagnostics,
      });
      expect(compared(ours)).toEqual(compared(theirs));
    },
  );

  it("is applied with its lines, counts and outputs", { timeout: 120_000 }, async () => {
    const { remote, write } = await startBoth();
    const made = await remote.ok("apply", "-auto-approve");
    expect(made).toMatch(/^terraform_data\.who: Creating\.\.\.$/m);
    expect(made).toMatch(/^lab_object\.a: Creation complete after \d+s \[id=[0-9a-f]+\]$/m);
    expect(made).toContain("\nApply complete! Resources: 6 added, 0 changed, 0 destroyed.\n");
    const outputs = made.slice(made.indexOf("\nOutputs:\n")).trim().split("\n");
    // The command prints them in any order.
    expect(outputs.slice(1).toSorted()).toEqual([
      "hidden = (sensitive value)",
      "objects = []",
      'who = "ann"',
    ]);
    await write(SECOND);
    const changed = await remote.ok("apply", "-auto-approve");
    expect(changed).toMatch(/^terraform_data\.replaced: Destroying\.\.\. \[id=[-0-9a-f]+\]$/m);
    expect(changed).toMatch(/^lab_object\.a: Modifications complete after \d+s/m);
    const destroyed = await remote.ok("destroy", "-auto-approve");
    expect(destroyed).toContain("\nDestroy complete! Resources: 6 destroyed.\n");
    for (const secret of SECRETS) expect(made + changed + destroyed).not.toContain(secret);
  });
});

it("logs and documents for programs have no secrets, and are for those who may request runs", {
  timeout: 120_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run`);
  const { cloud, workspace, remote, write } = await startBoth();
  await remote.ok("apply", "-auto-approve");
  await write(SECOND);
  await remote.ok("apply", "-auto-approve");
  await remote.ok("plan", "-destroy");
  const headers = { "x-terraform-integration": "cloud", "terraform-version": "1.11.4" };
  const get = async (path: string, token?: string) =>
    cloud.call("GET", `/api/v2/${path}`, { headers, ...(token !== undefined && { token }) });
  const runs = await get(`workspaces/${workspace}/runs?filter[operation]=plan_only,plan_and_apply`);
  const ids = (runs.json["data"] as { readonly id: string }[]).map(({ id }) => id.slice(4));
  expect(ids).toHaveLength(3);
  const reader = await cloud.tokenOf("reader");
  const logs: string[] = [];
  for (const id of ids) {
    const document = await get(`plans/plan-${id}/json-output-redacted`);
    expect(document.json).toMatchObject({
      plan_format_version: "1.2",
      provider_format_version: "1.0",
      provider_schemas: {
        "example.com/acme/lab": {
          resource_schemas: {
            lab_object: {
              block: {
                attributes: {
                  network: { nested_type: { attributes: { secret: { sensitive: true } } } },
                },
              },
            },
          },
        },
      },
    });
    expect(document.text).toContain('"after_sensitive":');
    expect((await get(`plans/plan-${id}/json-output-redacted`, reader)).status).toBe(404);
    const texts = [document.text];
    for (const [kind, path] of [
      ["plan", `plans/plan-${id}`],
      ["apply", `applies/apply-${id}`],
    ]) {
      const { data } = (await get(path ?? "")).json as {
        readonly data: { readonly attributes: Readonly<Record<string, string>> };
      };
      const { pathname } = new URL(data.attributes["log-read-url"] ?? "");
      const log = await cloud.call("GET", `${pathname}?limit=65536&offset=0`);
      expect([kind, log.status]).toEqual([kind, 200]);
      texts.push(log.text);
    }
    logs.push(...texts.slice(1));
    for (const secret of SECRETS) expect(texts.join("\n")).not.toContain(secret);
  }
  expect(logs.join("")).toContain('"type":"apply_complete"');
});
