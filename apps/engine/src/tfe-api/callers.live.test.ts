import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { freePorts } from "@stackwright/base/free-ports";
import { describe, expect, it, onTestFinished } from "vitest";
import { CLOUD_HOST, startCloud, WORKSPACES } from "../testing/start-cloud.ts";
import { tarOf } from "../testing/tar-of.ts";

// Who may do what by the real commands, what they may store, and where their states come from.

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const TOFU = process.env["TEST_TOOL_OPENTOFU"] ?? "tofu";
const PLAIN = 'resource "terraform_data" "a" { input = "ann" }\noutput "plain" { value = "ann" }\n';
const SECRET = 'output "s" {\n  value     = "hidden"\n  sensitive = true\n}\n';

describe("terraform with the cloud block", () => {
  it("reads for a token what that may read, and ends with it", {
    timeout: 240_000,
  }, async (context) => {
    context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
    const { root, block, server, tokenOf, workspace, call, first } = await startCloud(COMMAND);
    const { write, ok, fails, useToken } = root;
    await write(block("cloud", 'name = "demo"') + PLAIN);
    await ok("init");
    await ok("apply", "-auto-approve");
    const reader = await tokenOf("reader");
    await useToken(reader);
    expect(await ok("output", "-raw", "plain")).toBe("ann");
    expect(await fails("state", "pull")).toContain("registry:deployer");
    await useToken(first.token);
    await write(block("cloud", 'name = "demo"') + PLAIN + SECRET);
    await ok("apply", "-auto-approve");
    await useToken(reader);
    // The command reads all outputs for any of them.
    expect(await fails("output", "-raw", "s")).toContain("registry:deployer");
    const { json } = await call("GET", `${WORKSPACES}/demo`);
    const { id } = json["data"] as { readonly id: string };
    await call("POST", `/api/v2/workspaces/${id}/actions/lock`);
    expect(await fails("force-unlock", "-force", "default/demo")).toContain("registry:deployer");

    await workspace("runs", "remote");
    const { credentials } = server;
    const other = await credentials.createToken({ account: "default", roles: ["deployer"] });
    await useToken(other.token);
    await write(block("cloud", 'name = "runs"') + PLAIN);
    await ok("init");
    await useToken(reader);
    expect(await fails("plan")).toContain("Insufficient rights to generate a plan");
    await useToken(other.token);
    await credentials.revoke(other.tokenId);
    expect(await fails("plan")).toContain("unauthorized");
  });

  it("stores what follows a state, and by force what does not", {
    timeout: 240_000,
  }, async (context) => {
    context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
    const { root, block, call } = await startCloud(COMMAND);
    const { write, ok, fails, directory } = root;
    await write(block("cloud", 'name = "demo"') + PLAIN);
    await ok("init");
    await ok("apply", "-auto-approve");
    await ok("taint", "terraform_data.a");
    expect(await ok("plan")).toContain("is tainted, so must be replaced");
    await ok("untaint", "terraform_data.a");
    expect(await ok("plan")).toContain("No changes");
    const state = JSON.parse(await ok("state", "pull")) as { serial: number; lineage: string };
    const file = join(directory, "pushed.json");
    const put = async (change: object) => writeFile(file, JSON.stringify({ ...state, ...change }));
    await put({ serial: 40 });
    await ok("state", "push", file);
    // The command counts on by itself.
    expect(JSON.parse(await ok("state", "pull"))).toMatchObject({ serial: 41 });
    await put({ serial: 50, lineage: "other" });
    expect(await fails("state", "push", file)).toContain("lineage");
    await ok("state", "push", "-force", file);
    const { json } = await call("GET", "/api/v1/projects/default/stacks/demo/state-versions");
    expect((json["state_versions"] as object[])[0]).toMatchObject({
      lineage: "other",
      lineage_changed: true,
    });
    await put({ serial: 2, lineage: "other" });
    expect(await fails("state", "push", "-force", file)).toContain("serial");
    expect(JSON.parse(await ok("state", "pull"))).toMatchObject({ lineage: "other" });
  });

  it("takes a state of s3 to the server, with all that is in it", {
    timeout: 240_000,
  }, async (context) => {
    context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
    context.skip(spawnSync("moto_server", ["--help"]).status !== 0, "there is no moto_server");
    const s3 = await startS3();
    const { rootAs, first, block } = await startCloud(COMMAND);
    const { write, ok, start: begin } = await rootAs(first.token, s3.env);
    await write(s3.block + PLAIN);
    await ok("init");
    await ok("apply", "-auto-approve");
    const before = JSON.parse(await ok("state", "pull")) as { readonly resources: object[] };
    await write(block("cloud", 'name = "moved"') + PLAIN);
    const migration = begin(["init"]);
    migration.child.stdin.end("yes\n");
    expect(await migration.ended).toMatchObject({ code: 0 });
    // The lineage is a new one, which the command makes.
    const { resources } = before;
    expect(JSON.parse(await ok("state", "pull"))).toMatchObject({ version: 4, resources });
    expect(await ok("plan")).toContain("No changes");
  });
});

describe("tofu", () => {
  it("tags its workspaces, keeps its states and installs modules here", {
    timeout: 240_000,
  }, async (context) => {
    context.skip(spawnSync(TOFU, ["version"]).status !== 0, `${TOFU} cannot be run here`);
    const { root, rootAs, first, block, call } = await startCloud(TOFU, "in-process");
    const archive = gzipSync(tarOf({ "main.tf": 'output "word" { value = "hello" }\n' }));
    const path = "/api/v1/registry/modules/acme/hello/any/1.0.0";
    const published = await call("PUT", path, { body: Uint8Array.from(archive) });
    expect(published.status, published.text).toBe(201);
    const configuration = `${PLAIN}
      module "hello" {
        source  = "${CLOUD_HOST}/acme/hello/any"
        version = "~> 1.0"
      }
      output "word" { value = module.hello.word }\n`;
    const { write, ok, start: begin } = root;
    await write(block("cloud", 'tags = ["app", "net"]') + configuration);
    const made = begin(["init"]);
    made.child.stdin.end("one\n");
    expect(await made.ended).toMatchObject({ code: 0 });
    const { json } = await call("GET", `${WORKSPACES}/one`);
    const { attributes } = json["data"] as { readonly attributes: Record<string, string[]> };
    expect(attributes["tag-names"]?.toSorted()).toEqual(["app", "net"]);
    await ok("apply", "-auto-approve");
    expect(await ok("output", "-raw", "word")).toBe("hello");
    await ok("state", "mv", "terraform_data.a", "terraform_data.b");
    expect(await ok("state", "list")).toBe("terraform_data.b\n");
    expect(await ok("workspace", "list")).toContain("* one");

    const other = await rootAs(first.token);
    await other.write(block('backend "remote"', 'name = "one"') + configuration);
    await other.ok("init");
    expect(await other.ok("output", "-raw", "word")).toBe("hello");
    expect(await other.ok("plan")).toContain("1 to add, 0 to change, 1 to destroy");
  });
});

/** A simulation of AWS with a bucket. */
async function startS3() {
  const [port = 0] = await freePorts(1);
  const child = spawn("moto_server", ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const authorization =
    "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
  const isThere = async (): Promise<boolean> =>
    fetch(`${endpoint}/states`, { method: "PUT", headers: { authorization } }).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isThere, { timeout: 60_000, interval: 150 }).toBe(true);
  const block = `terraform {
  backend "s3" {
    bucket                      = "states"
    key                         = "app/terraform.tfstate"
    region                      = "us-east-1"
    use_path_style              = true
    use_lockfile                = true
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    endpoints                   = { s3 = "${endpoint}" }
  }
}\n`;
  const env = {
    AWS_ACCESS_KEY_ID: "k",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_EC2_METADATA_DISABLED: "true",
  };
  return { block, env };
}
