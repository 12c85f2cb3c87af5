import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { CLIENT_COMMANDS } from "../testing/client-commands.ts";
import { startApi } from "../testing/start-api.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

const RESOURCES = `
variable "who" { default = "ann" }
resource "terraform_data" "a" { input = var.who }
output "plain" { value = terraform_data.a.output }
output "s" {
  value     = "hidden-\${var.who}"
  sensitive = true
}
`;
/** A further resource whose creation ends when the command is killed. */
const SLOW = `
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "sleep 60" }
}
`;

async function startWith(command: string) {
  const { certificateFile, keyFile } = await localhostCertificate();
  const api = await startApi("none", { tls: { certificateFile, keyFile }, host: "localhost" });
  const { port } = new URL(api.server.url);
  const host = `localhost:${port}`;
  const rootAs = async (token: string) => {
    const root = await terraformRoot(command, { SSL_CERT_FILE: certificateFile });
    await writeFile(
      root.env["TF_CLI_CONFIG_FILE"] ?? "",
      token === "" ? "" : `credentials "${host}" {\n  token = "${token}"\n}\n`,
    );
    const cloud = (workspaces: string): string =>
      `terraform {\n  cloud {\n    hostname = "${host}"\n    organization = "default"\n    workspaces { ${workspaces} }\n  }\n}\n`;
    return { ...root, cloud };
  };
  return { ...api, host, rootAs, root: await rootAs(api.first.token) };
}

describe.each(CLIENT_COMMANDS)("%s with the cloud block, in local execution", (_name, command) => {
  const start = async () => startWith(command);
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("creates the workspace, applies, edits the state and destroys", {
    timeout: 180_000,
  }, async () => {
    const { root, rootAs, tokenOf } = await start();
    const { write, ok, cloud, fails, directory } = root;
    await write(cloud('name = "demo"') + RESOURCES);
    await ok("init");
    expect(await ok("plan")).toContain("1 to add");
    expect(await ok("apply", "-auto-approve")).toContain("1 added");
    expect(await ok("plan")).toContain("No changes");
    expect(await ok("output", "-raw", "s")).toBe("hidden-ann");
    expect(JSON.parse(await ok("output", "-json"))).toMatchObject({
      plain: { value: "ann", sensitive: false, type: "string" },
      s: { value: "hidden-ann", sensitive: true },
    });
    expect(await ok("state", "list")).toContain("terraform_data.a");
    const pulled = await ok("state", "pull");
    expect(JSON.parse(pulled)).toMatchObject({ version: 4, serial: 1 });
    const file = join(directory, "pushed.tfstate");
    await writeFile(file, pulled);
    await ok("state", "push", file);
    expect(await ok("state", "pull")).toBe(pulled);
    await writeFile(file, pulled.replace(/"serial": ?1\b/, '"serial":0'));
    expect(await fails("state", "push", file)).toContain("serial");
    await ok("state", "mv", "terraform_data.a", "terraform_data.b");
    await ok("state", "mv", "terraform_data.b", "terraform_data.a");
    expect(await ok("show")).toContain("terraform_data.a");
    await write(`${cloud('name = "demo"')}${RESOURCES}resource "terraform_data" "found" {}`);
    await ok("import", "terraform_data.found", "an-id");
    expect(await ok("state", "show", "terraform_data.found")).toContain('"an-id"');
    const console = root.start(["console"]);
    console.child.stdin.end("terraform_data.found.id\n");
    expect((await console.ended).text).toContain('"an-id"');
    await ok("state", "rm", "terraform_data.found");
    await write(cloud('name = "demo"') + RESOURCES);
    // A reader plans nothing, and reads plain outputs.
    const reader = await rootAs(await tokenOf("reader"));
    await reader.write(reader.cloud('name = "demo"') + RESOURCES);
    const refused = await reader.exec("init");
    expect(refused.code).toBe(1);
    await ok("destroy", "-auto-approve");
    expect(await ok("state", "list")).toBe("");
  });

  it("is kept out by a lock, which force-unlock breaks", { timeout: 180_000 }, async () => {
    const { root } = await start();
    const { write, ok, fails, cloud } = root;
    await write(cloud('name = "demo"') + RESOURCES + SLOW);
    await ok("init");
    const slow = root.start(["apply", "-auto-approve"]);
    await until(() => slow.output.text.includes("Provisioning with"));
    expect(await fails("plan")).toContain('already locked (lock ID: "default/demo")');
    process.kill(-(slow.child.pid ?? 0), "SIGKILL");
    await slow.ended;
    await ok("force-unlock", "-force", "default/demo");
    expect(await fails("force-unlock", "-force", "default/demo")).toContain("already unlocked");
    expect(await ok("plan")).toContain("to add");
  });
});

describe.each(CLIENT_COMMANDS)("%s with the cloud block, in local execution", (_name, command) => {
  const start = async () => startWith(command);
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("takes a local state to the server, and reads it as remote state", {
    timeout: 180_000,
  }, async () => {
    const { root, rootAs, first, host } = await start();
    const { write, ok, cloud } = root;
    await write(RESOURCES);
    await ok("init");
    await ok("apply", "-auto-approve");
    await write(cloud('name = "moved"') + RESOURCES);
    const migration = root.start(["init"]);
    migration.child.stdin.end("yes\n");
    expect(await migration.ended).toMatchObject({ code: 0 });
    expect(await ok("plan")).toContain("No changes");
    const other = await rootAs(first.token);
    await other.write(
      `data "terraform_remote_state" "moved" {
        backend = "remote"
        config = { hostname = "${host}", organization = "default", workspaces = { name = "moved" } }
      }
      output "read" { value = data.terraform_remote_state.moved.outputs.plain }`,
    );
    await other.ok("init");
    expect(await other.ok("apply", "-auto-approve")).toContain('read = "ann"');
  });

  it("lists, selects, tags and deletes workspaces", { timeout: 240_000 }, async () => {
    const { root } = await start();
    const { write, ok, fails, cloud } = root;
    await write(cloud('tags = ["app"]') + RESOURCES);
    // No workspace has the tag yet: the command asks for a name.
    const first = root.start(["init"]);
    first.child.stdin.end("one\n");
    expect(await first.ended).toMatchObject({ code: 0 });
    await ok("workspace", "new", "two");
    expect(await ok("workspace", "list")).toContain("* two");
    await ok("apply", "-auto-approve");
    await ok("workspace", "select", "one");
    expect(await fails("workspace", "delete", "two")).toContain("not empty");
    await ok("workspace", "delete", "-force", "two");
    expect(await ok("workspace", "list")).not.toContain("two");
    expect((await root.start(["workspace", "list"], { TF_WORKSPACE: "one" }).ended).text).toContain(
      "one",
    );
  });

  it("keeps what it could not store in a file, which is stored later", {
    timeout: 180_000,
  }, async () => {
    const { root } = await start();
    const { write, ok, cloud, directory } = root;
    const held = `resource "terraform_data" "held" {
      provisioner "local-exec" { command = "touch begun; while [ ! -e go ]; do sleep 0.1; done" }
    }\n`;
    await write(cloud('name = "demo"') + RESOURCES + held);
    await ok("init");
    const applied = root.start(["apply", "-auto-approve"]);
    await until(() => existsSync(join(directory, "begun")));
    // Who breaks a lock that is in use is in the way of its holder.
    await ok("force-unlock", "-force", "default/demo");
    await writeFile(join(directory, "go"), "");
    const { code, text } = await applied.ended;
    expect([code, text]).toEqual([1, expect.stringContaining("errored.tfstate")]);
    expect(await ok("state", "pull")).not.toContain("terraform_data");
    await ok("state", "push", join(directory, "errored.tfstate"));
    expect(await ok("state", "list")).toBe("terraform_data.a\nterraform_data.held\n");
    expect(await ok("plan")).toContain("No changes");
  });

  it("is the backend remote as well, by name and by prefix", { timeout: 120_000 }, async () => {
    const { root, host, rootAs, first } = await start();
    const backend = (workspaces: string): string =>
      `terraform {\n  backend "remote" {\n    hostname = "${host}"\n    organization = "default"\n    workspaces { ${workspaces} }\n  }\n}\n`;
    await root.write(backend('name = "app-one"') + RESOURCES);
    await root.ok("init");
    expect(await root.ok("apply", "-auto-approve")).toContain("1 added");
    const other = await rootAs(first.token);
    await other.write(backend('prefix = "app-"') + RESOURCES);
    expect((await other.start(["init"], { TF_WORKSPACE: "one" }).ended).code).toBe(0);
    const listed = await other.start(["workspace", "list"], { TF_WORKSPACE: "one" }).ended;
    expect([listed.code, listed.text]).toEqual([0, expect.stringContaining("* one")]);
    const planned = await other.start(["plan"], { TF_WORKSPACE: "one" }).ended;
    expect([planned.code, planned.text]).toEqual([0, expect.stringContaining("No changes")]);
  });

  it("refuses other organizations and tokens", { timeout: 120_000 }, async () => {
    const { rootAs, root } = await start();
    const { write, fails, cloud } = root;
    await write(cloud('name = "demo"').replace('"default"', '"other"') + RESOURCES);
    expect(await fails("init")).toContain("not found");
    const none = await rootAs("");
    await none.write(none.cloud('name = "demo"') + RESOURCES);
    expect(await none.fails("init")).toContain("Required token could not be found");
    const wrong = await rootAs("sw1.wrong.token");
    await wrong.write(wrong.cloud('name = "demo"') + RESOURCES);
    expect(await wrong.fails("init")).toContain("unauthorized");
  });
});

async function until(holds: () => boolean): Promise<void> {
  const endMs = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error("it did not happen in time");
    await pause(20);
  }
}
