import { spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { CLIENT_COMMANDS } from "../testing/client-commands.ts";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { startApi } from "../testing/start-api.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

const RESOURCES = `
variable "who" { default = "ann" }
variable "list" {
  type    = list(object({ n = number }))
  default = []
}
resource "terraform_data" "a" { input = var.who }
resource "terraform_data" "b" { input = length(var.list) }
output "plain" { value = terraform_data.a.output }
output "s" {
  value     = "hidden-\${var.who}"
  sensitive = true
}
`;

async function startWith(command: string) {
  const { certificateFile, keyFile } = await localhostCertificate();
  const api = await startApi("in-process", {
    tls: { certificateFile, keyFile },
    host: "localhost",
  });
  const { port } = new URL(api.server.url);
  const host = `localhost:${port}`;
  const root = await terraformRoot(command, { SSL_CERT_FILE: certificateFile });
  await writeFile(
    root.env["TF_CLI_CONFIG_FILE"] ?? "",
    `credentials "${host}" {\n  token = "${api.first.token}"\n}\n`,
  );
  const ca = await readFile(certificateFile);
  const send = async (
    method: string,
    path: string,
    body?: object,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${api.first.token}`, ...more };
      const sent = request(`https://${host}${path}`, { method, ca, headers }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += String(chunk);
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      });
      sent.on("error", reject);
      if (body instanceof Uint8Array) sent.end(body);
      else sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const write = async (text: string): Promise<void> =>
    root.write(
      `terraform {\n  cloud {\n    hostname = "${host}"\n    organization = "default"\n    workspaces { name = "demo" }\n  }\n}\n${text}`,
    );
  await write(RESOURCES);
  await root.ok("init");
  const setMode = async (mode: "remote" | "local"): Promise<void> => {
    const body = { data: { attributes: { "execution-mode": mode } } };
    const path = "/api/v2/organizations/default/workspaces/demo";
    expect(await send("PATCH", path, body)).toMatchObject({ status: 200 });
  };
  await setMode("remote");
  /** Phases of the runs, the newest first. */
  const runs = async () => {
    const { text } = await send("GET", "/api/v1/projects/default/stacks/demo/runs");
    return (JSON.parse(text) as { runs: Run[] }).runs.toReversed();
  };
  return { ...root, host, writeFile: root.write, write, send, runs, setMode };
}

describe.each(CLIENT_COMMANDS)("%s with the cloud block, in remote execution", (_name, command) => {
  const start = async () => startWith(command);
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("shows what policies say of a plan, and overrides them where that is allowed", {
    timeout: 240_000,
  }, async () => {
    const { ok, exec, start: begin, runs, write, send } = await start();
    const sets = "/api/v1/policy-sets";
    const json = { "content-type": "application/json" };
    const set = { name: "security", enforcement: "overridable" };
    expect(await send("POST", sets, set, json)).toMatchObject({ status: 201 });
    const content = `${sets}/security/content?entrypoint=stackwright`;
    const gzip = { "content-type": "application/gzip" };
    expect(await send("PUT", content, policyBundle(), gzip)).toMatchObject({ status: 200 });
    const bad = (word: string): string => `resource "terraform_data" "bad" { input = "${word}" }`;
    await write(bad("one"));
    const planned = await exec("plan");
    expect([planned.code, planned.text]).toEqual([
      1,
      expect.stringContaining("Policy set security (overridable): failed"),
    ]);
    expect(planned.text).toContain("(terraform_data.bad)");

    const asked = begin(["apply"]);
    await until(() => asked.output.text.includes("override the soft failed policy check"));
    asked.child.stdin.write("override\n");
    await until(() => asked.output.text.includes("perform these actions"));
    asked.child.stdin.end("yes\n");
    const applied = await asked.ended;
    expect([applied.code, applied.text]).toEqual([0, expect.stringContaining("Apply complete")]);
    await write(bad("two"));
    await ok("apply", "-auto-approve");
    expect((await runs())[0]?.phase).toBe("applied");

    const mandatory = { enforcement: "mandatory" };
    const change = await send("PATCH", `${sets}/security`, mandatory, { ...json, "if-match": "*" });
    expect(change).toMatchObject({ status: 200 });
    await write(bad("three"));
    const refused = await exec("apply", "-auto-approve");
    expect([refused.code, refused.text]).toEqual([1, expect.stringContaining("hard failed")]);
    // The command renders no plan of a run that has ended.
    expect(refused.text).toContain("Plan: 0 to add, 1 to change, 0 to destroy.");
    expect((await runs())[0]?.phase).toBe("discarded");
    expect(await ok("state", "show", "terraform_data.bad")).toContain("two");
  });

  it("plans, applies by the prompt, and destroys", { timeout: 240_000 }, async () => {
    const { ok, exec, start: begin, runs, write, fails } = await start();
    const planned = await exec("plan", "-detailed-exitcode");
    expect([planned.code, planned.text]).toEqual([2, expect.stringContaining("2 to add")]);
    expect((await runs())[0]?.phase).toBe("plan_finished");
    const asked = begin(["apply"]);
    await until(() => asked.output.text.includes("Enter a value"));
    asked.child.stdin.end("yes\n");
    const applied = await asked.ended;
    expect([applied.code, applied.text]).toEqual([0, expect.stringContaining("Apply complete")]);
    expect(applied.text).toContain('plain = "ann"');
    expect(applied.text).not.toContain("hidden-ann");
    expect((await runs())[0]?.phase).toBe("applied");
    expect((await exec("plan", "-detailed-exitcode")).code).toBe(0);
    expect(await ok("output", "-raw", "plain")).toBe("ann");
    expect(await ok("output", "-raw", "s")).toBe("hidden-ann");
    expect(await ok("state", "list")).toContain("terraform_data.a");
    const said = begin(["apply", "-var", "who=bob"]);
    await until(() => said.output.text.includes("Enter a value"));
    said.child.stdin.end("no\n");
    expect(await said.ended).toMatchObject({ code: 1 });
    expect((await runs())[0]?.phase).toBe("discarded");
    await ok("apply", "-auto-approve", "-var", "who=bob", "-var", "list=[{ n = 1 }]");
    expect(await ok("output", "-raw", "plain")).toBe("bob");
    expect(await ok("state", "show", "terraform_data.b")).toContain("= 1");
    await write('resource "terraform_data" "a" { input = var.none }');
    expect(await fails("plan")).toContain("main.tf line");
    await write(RESOURCES);
    await ok("destroy", "-auto-approve");
    expect(await ok("state", "list")).toBe("");
  });
});

describe.each(CLIENT_COMMANDS)("%s with the cloud block, in remote execution", (_name, command) => {
  const start = async () => startWith(command);
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("saves a plan, which a newer run discards", { timeout: 240_000 }, async () => {
    const { ok, fails, runs, setMode } = await start();
    await ok("plan", "-out=first");
    const shown = await ok("show", "first");
    expect(shown).toContain("# terraform_data.a will be created");
    expect(shown).toContain('+ input  = "ann"');
    expect(shown).toContain("Plan: 2 to add, 0 to change, 0 to destroy.");
    expect(shown).not.toContain("hidden-ann");
    expect(JSON.parse(await ok("show", "-json", "first"))).toMatchObject({
      format_version: "1.2",
      resource_changes: [{ address: "terraform_data.a" }, { address: "terraform_data.b" }],
    });
    await ok("apply", "first");
    expect((await runs())[0]?.phase).toBe("applied");
    expect(await fails("apply", "first")).toContain("already applied");
    await ok("plan", "-out=same");
    expect(await ok("show", "same")).toContain("No changes");
    await ok("plan", "-out=second", "-var", "who=bob");
    expect(await ok("show", "second")).toContain('"ann" -> "bob"');
    await ok("apply", "-auto-approve", "-var", "who=eve");
    expect(await fails("apply", "second")).toContain("discarded");
    expect(await ok("output", "-raw", "plain")).toBe("eve");
    // The same state in either mode, whose commands need no other configuration.
    await setMode("local");
    await ok("plan", "-detailed-exitcode", "-var", "who=eve");
    await ok("apply", "-auto-approve", "-var", "who=joe");
    await setMode("remote");
    await ok("plan", "-detailed-exitcode", "-var", "who=joe");
    expect((await runs())[0]?.phase).toBe("no_changes");
  });

  it("counts no plans of before, and says what to use where the state is read-only", {
    timeout: 240_000,
  }, async () => {
    const { ok, fails, start: begin, writeFile: put, directory } = await start();
    expect(await ok("apply", "-auto-approve")).toContain("Resources: 2 added, 0 changed");
    await ok("plan");
    const waits = "before being queued";
    expect(await ok("plan")).not.toContain(waits);
    const replaced = await ok("apply", "-auto-approve", "-replace=terraform_data.b");
    expect(replaced).toContain("Apply complete! Resources: 1 added, 0 changed, 1 destroyed.");
    expect(replaced).not.toContain(waits);
    expect(replaced).not.toContain("no effect");
    expect(await ok("refresh")).toContain("No changes");

    for (const words of [
      ["state", "rm", "terraform_data.b"],
      ["state", "mv", "terraform_data.b", "terraform_data.c"],
      ["taint", "terraform_data.b"],
    ]) {
      expect(await fails(...words)).toContain("moved, removed and import blocks");
    }
    // What an own machine imports or edits is no state of a stack that the server runs, and the next command finds no lock of it.
    const pulled = await ok("state", "pull");
    const state = JSON.parse(pulled) as { readonly serial: number };
    await put(pulled, "same.tfstate");
    await put(JSON.stringify({ ...state, serial: state.serial + 1, resources: [] }), "new.tfstate");
    await put(`resource "terraform_data" "c" {}\n`, "more.tf");
    for (const words of [
      ["import", "terraform_data.c", "c"],
      ["state", "push", "new.tfstate"],
      ["state", "push", "-force", "new.tfstate"],
    ]) {
      const said = await fails(...words);
      expect(said).toContain("moved, removed and import blocks");
      expect(said).toContain("stackwright state mv, rm and taint");
      expect(said).toContain("stackwright adopt");
    }
    await rm(join(directory, "more.tf"));
    await ok("state", "push", "same.tfstate");
    expect(await ok("state", "pull")).toBe(pulled);
    expect(await ok("plan")).toContain("No changes");
    expect(await fails("plan", "-generate-config-out=new.tf")).toContain("not supported by");
    const console = begin(["console"]);
    console.child.stdin.end("terraform_data.a.output\n");
    expect((await console.ended).text).toContain('"ann"');
    await mkdir(join(directory, "tests"));
    const asserts = 'condition = terraform_data.a.input == "ann"\n error_message = "no"';
    await put(`run "a" {\n command = plan\n assert {\n ${asserts}\n }\n}\n`, "tests/a.tftest.hcl");
    expect(await ok("test")).toContain("1 passed");
  });

  it("is canceled while it waits for a lock", { timeout: 120_000 }, async () => {
    const { start: begin, send, runs, ok } = await start();
    const demo = await send("GET", "/api/v2/organizations/default/workspaces/demo");
    const { id } = (JSON.parse(demo.text) as { data: { id: string } }).data;
    await send("POST", `/api/v2/workspaces/${id}/actions/lock`);
    const waits = begin(["apply", "-auto-approve"]);
    await until(() => waits.output.text.includes("Waiting for"));
    waits.child.kill("SIGINT");
    const { text } = await waits.ended;
    // A request that the signal cuts off leaves the run as it is; the command says so.
    const isCanceled = text.includes("successfully cancelled");
    expect((await runs())[0]?.phase).toBe(isCanceled ? "canceled" : "queued");
    const late = await begin(["apply", "-auto-approve", "-lock-timeout=1s"]).ended;
    expect(late.text).toContain("cancel");
    await send("POST", `/api/v2/workspaces/${id}/actions/unlock`);
    expect(await ok("apply", "-auto-approve")).toMatch(/Apply complete|No changes/);
  });

  it("replaces, targets and refreshes what is asked for", { timeout: 240_000 }, async () => {
    const { ok, runs, start: begin, send } = await start();
    expect(await ok("apply", "-auto-approve", "-target=terraform_data.a")).toContain("1 to add");
    expect(await ok("apply", "-auto-approve", "-refresh=false")).toContain("1 to add");
    expect(await ok("plan", "-replace=terraform_data.b")).toContain("1 to destroy");
    await ok("apply", "-refresh-only", "-auto-approve");
    expect(await ok("plan", "-destroy")).toContain("2 to destroy");
    expect((await runs())[0]?.phase).toBe("plan_finished");
    // Decided elsewhere while the command asks.
    const asked = begin(["apply", "-var", "who=bob"]);
    await until(() => asked.output.text.includes("Enter a value"));
    const [run] = await runs();
    const path = `/api/v1/projects/default/stacks/demo/runs/${run?.id}/approvals`;
    await send("POST", path, { plan_digest: run?.plan_digest });
    const { code, text } = await asked.ended;
    expect([code, text]).toEqual([0, expect.stringContaining("approved using the UI or API")]);
  });
});

describe.each(CLIENT_COMMANDS)("%s with the cloud block, in remote execution", (name, command) => {
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("lets two applies at once follow one another, and keeps what one made before it failed", {
    timeout: 240_000,
  }, async () => {
    const { ok, exec, start: begin, runs, send, write } = await startWith(command);
    const both = ["bob", "eve"].map((who) =>
      begin(["apply", "-auto-approve", "-var", `who=${who}`]),
    );
    for (const { child } of both) child.stdin.end();
    const ended = await Promise.all(both.map(async (one) => one.ended));
    expect(ended.map(({ code, text }) => [code, text.includes("Apply complete")])).toEqual([
      [0, true],
      [0, true],
    ]);
    const phases = (await runs()).map(({ phase }) => phase);
    expect(phases).toEqual(["applied", "applied"]);
    // The later one was planned from what the earlier one had made.
    const later = ended.find(({ text }) => text.includes("1 to change"));
    const plain = await ok("output", "-raw", "plain");
    expect(later?.text).toContain(`plain = "${plain}"`);

    await write(`${RESOURCES}
      resource "terraform_data" "new" { input = "new" }
      resource "terraform_data" "bad" {
        lifecycle {
          precondition {
            condition     = terraform_data.new.output == "old"
            error_message = "the new one is not old"
          }
        }
      }`);
    const failed = await exec("apply", "-auto-approve");
    expect([failed.code, failed.text]).toEqual([1, expect.stringContaining("is not old")]);
    expect(await ok("state", "list")).toContain("terraform_data.new");

    await write(RESOURCES);
    const asked = begin(["apply"]);
    await until(() => asked.output.text.includes("Enter a value"));
    const [run] = await runs();
    const path = `/api/v1/projects/default/stacks/demo/runs/${run?.id}/discard`;
    expect((await send("POST", path, {}, { "content-type": "application/json" })).status).toBe(200);
    const { code, text } = await asked.ended;
    expect([code, text]).toEqual([1, expect.stringContaining("discarded using the UI or API")]);

    // A run does not need the command that requested it.
    const killed = begin(["apply", "-auto-approve", "-var", "who=joe"]);
    await until(() => killed.output.text.includes("Waiting for the plan to start"));
    killed.child.kill("SIGKILL");
    await killed.ended;
    await expect.poll(async () => (await runs())[0]?.phase, { timeout: 60_000 }).toBe("applied");
    expect(await ok("output", "-raw", "plain")).toBe("joe");
  });

  it("has variables of files, of the environment and of the workspace, and is the backend remote as well", {
    timeout: 240_000,
  }, async () => {
    const {
      ok,
      fails,
      host,
      directory,
      writeFile: put,
      start: begin,
      send,
      write,
    } = await startWith(command);
    const json = { "content-type": "application/json" };
    const variable = "/api/v1/projects/default/stacks/demo/variables/terraform/who";
    expect((await send("PUT", variable, { value: "joe" }, json)).status).toBe(201);
    await ok("apply", "-auto-approve");
    expect(await ok("output", "-raw", "plain")).toBe("joe");
    await put('who = "bob"\nlist = [{ n = 1 }, { n = 2 }]\n', "more.tfvars");
    await ok("apply", "-auto-approve", "-var-file=more.tfvars");
    expect(await ok("output", "-raw", "plain")).toBe("bob");
    expect(await ok("state", "show", "terraform_data.b")).toContain("= 2");
    const given = begin(["apply", "-auto-approve"], { TF_VAR_who: "eve" });
    given.child.stdin.end();
    expect(await given.ended).toMatchObject({ code: 0 });
    expect(await ok("output", "-raw", "plain")).toBe("eve");
    // Without a resource in the configuration, all that there is goes.
    await write("");
    await ok("destroy", "-auto-approve");
    expect(await ok("state", "list")).toBe("");

    const workspace = 'organization = "default"\n workspaces { name = "demo" }';
    const backend = `backend "remote" {\n hostname = "${host}"\n ${workspace}\n }`;
    await put(`terraform {\n ${backend}\n}\n${RESOURCES}`);
    // What the command keeps of its backend of before, a selected workspace among it.
    await rm(join(directory, ".terraform"), { recursive: true });
    await ok("init");
    expect(await ok("apply", "-auto-approve")).toContain("Apply complete");
    expect(await ok("output", "-raw", "plain")).toBe("joe");
    expect(await ok("plan")).toContain("No changes");
    expect(await fails("plan", "-out=saved")).toContain("not supported");

    // Tags, with values where the command has them, and a project that there is not yet.
    await rm(join(directory, ".terraform"), { recursive: true });
    const tags = name === "tofu" ? '["prod"]' : '{ env = "prod" }';
    const tagged = `organization = "default"\n workspaces {\n tags = ${tags}\n project = "net"\n }`;
    await put(`terraform {\n cloud {\n hostname = "${host}"\n ${tagged}\n }\n}\n`);
    const made = begin(["init"]);
    made.child.stdin.end("app\n");
    expect(await made.ended).toMatchObject({ code: 0 });
    const stacks = await send("GET", "/api/v1/projects/net/stacks");
    expect(stacks.text).toContain('"app"');
    await ok("init");
    expect(await ok("workspace", "list")).toContain("* app");
    const unknown = begin(["init", "-input=false"], { TF_WORKSPACE: "none" });
    expect((await unknown.ended).text).toContain("Invalid workspace selection");
  });
});

describe.each(CLIENT_COMMANDS)("%s with a plan that is not decided", (_name, command) => {
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("leaves it to others without input and by Ctrl-C, and writes nothing by a second init", {
    timeout: 240_000,
  }, async () => {
    const { ok, fails, start: begin, runs, send } = await startWith(command);
    /** Requests to the API so far that are no reads. */
    const writes = async () =>
      (await send("GET", "/metrics")).text
        .split("\n")
        .filter((line) => /^stackwright_http_request_seconds_count.*\/api\/v2/.test(line))
        .filter((line) => !/method="(GET|HEAD)"/.test(line));
    const before = await writes();
    expect(before.join("\n")).toContain('method="POST"');
    await ok("init");
    expect(await writes()).toEqual(before);

    const approve = async () => {
      const [run] = await runs();
      expect(run?.phase).toBe("awaiting_approval");
      const path = `/api/v1/projects/default/stacks/demo/runs/${run?.id}/approvals`;
      const { status, text } = await send("POST", path, { plan_digest: run?.plan_digest });
      expect(status, text).toBeLessThan(300);
      await expect.poll(async () => (await runs())[0]?.phase, { timeout: 60_000 }).toBe("applied");
    };
    expect(await fails("apply", "-input=false")).toMatch(/input/);
    await approve();
    const asked = begin(["apply", "-var", "who=bob"]);
    await until(() => asked.output.text.includes("Enter a value"));
    asked.child.kill("SIGINT");
    await asked.ended;
    await approve();
    expect(await ok("output", "-raw", "plain")).toBe("bob");
  });
});

it("tofu with the cloud block plans and applies in both execution modes", {
  timeout: 240_000,
}, async (context) => {
  const [, [, command]] = CLIENT_COMMANDS;
  const { status } = spawnSync(command, ["version"]);
  context.skip(status !== 0, `${command} cannot be run on this machine`);
  const { ok, runs, setMode } = await startWith(command);
  expect(await ok("plan")).toContain("2 to add");
  await ok("apply", "-auto-approve", "-var", "who=bob");
  expect((await runs())[0]?.phase).toBe("applied");
  expect(await ok("output", "-raw", "plain")).toBe("bob");
  await setMode("local");
  await ok("plan", "-detailed-exitcode", "-var", "who=bob");
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Run {
  readonly id: string;
  readonly phase: string;
  readonly plan_digest?: string;
}

async function until(holds: () => boolean): Promise<void> {
  const endMs = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error("it did not happen in time");
    await pause(20);
  }
}
