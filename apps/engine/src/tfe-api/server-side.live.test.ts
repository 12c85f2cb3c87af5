import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { startCloud } from "../testing/start-cloud.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

// What the server has or does by itself, which commands then meet.

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const OWN = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");
const PROJECT = "/api/v1/projects/default";
const POLL = { timeout: 60_000, interval: 50 };
const WHO = 'variable "who" { default = "ann" }\noutput "plain" { value = "is-${var.who}" }\n';

interface Run {
  readonly id: string;
  readonly phase: string;
  readonly plan_digest?: string;
}

async function start() {
  const cloud = await startCloud(COMMAND, "in-process");
  const runsOf = async (stack: string): Promise<Run[]> => {
    const { json } = await cloud.call("GET", `${PROJECT}/stacks/${stack}/runs`);
    return (json["runs"] as Run[]).toReversed();
  };
  /** A root of a workspace in remote execution that is initialized. */
  const open = async (name: string, text: string) => {
    await cloud.workspace(name, "remote");
    await cloud.root.write(cloud.block("cloud", `name = "${name}"`) + text);
    await cloud.root.ok("init");
    return cloud.root;
  };
  return { ...cloud, runsOf, open };
}

/** A server that says that it was asked for a state, and answers later. */
async function heldState() {
  const state = { version: 4, terraform_version: "1.11.4", serial: 1, lineage: "x", resources: [] };
  const body = JSON.stringify({ ...state, outputs: { word: { value: "late", type: "string" } } });
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => asked.resolve(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const answer = async () => (await asked.promise).end(body);
  return { address: `http://127.0.0.1:${port}/state`, asked: asked.promise, answer };
}

describe("terraform, in remote execution", () => {
  beforeEach((context) => {
    const { status } = spawnSync(COMMAND, ["version"]);
    context.skip(status !== 0, `${COMMAND} cannot be run on this machine`);
  });

  it("has a value of the set of its project, unless its workspace or the command has one", {
    timeout: 120_000,
  }, async () => {
    const { open, call } = await start();
    const { ok } = await open("demo", WHO);
    const sets = `${PROJECT}/variable-sets`;
    expect((await call("POST", sets, { body: { name: "shared" } })).status).toBe(201);
    const give = async (place: string, value: string) =>
      expect(
        (await call("PUT", `${place}/variables/terraform/who`, { body: { value } })).status,
      ).toBe(201);
    await give(`${sets}/shared`, "of-the-set");
    expect(await ok("plan")).toContain("is-of-the-set");
    await give(`${PROJECT}/stacks/demo`, "of-the-workspace");
    expect(await ok("plan")).toContain("is-of-the-workspace");
    expect(await ok("plan", "-var", "who=of-the-command")).toContain("is-of-the-command");
  });

  it("leaves a plan to the server by Ctrl-C", { timeout: 120_000 }, async () => {
    const { open, runsOf } = await start();
    const { address, asked, answer } = await heldState();
    const data = `data "terraform_remote_state" "a" {\n  backend = "http"\n  config  = { address = "${address}" }\n}\n`;
    const { start: begin } = await open(
      "demo",
      `${data}output "word" { value = data.terraform_remote_state.a.outputs.word }\n`,
    );
    const planning = begin(["plan"]);
    await asked;
    planning.child.kill("SIGINT");
    const { code, text } = await planning.ended;
    expect([code, text]).toEqual([1, expect.not.stringContaining("Plan:")]);
    expect((await runsOf("demo")).map(({ phase }) => phase)).toEqual(["planning"]);
    await answer();
    await vi.waitFor(
      async () =>
        expect((await runsOf("demo")).map(({ phase }) => phase)).toEqual(["plan_finished"]),
      POLL,
    );
  });

  it("overrides no policies for a token without the role that these ask for", {
    timeout: 120_000,
  }, async () => {
    const { open, call, runsOf, tokenOf } = await start();
    const sets = "/api/v1/policy-sets";
    const set = { name: "security", enforcement: "overridable" };
    expect((await call("POST", sets, { body: set })).status).toBe(201);
    const content = `${sets}/security/content?entrypoint=stackwright`;
    expect((await call("PUT", content, { body: policyBundle() })).status).toBe(200);
    const { fails, useToken } = await open(
      "demo",
      'resource "terraform_data" "bad" { input = "one" }\n',
    );
    await useToken(await tokenOf("deployer"));
    expect(await fails("apply", "-auto-approve")).toContain("soft failed");
    const [run] = await runsOf("demo");
    expect(run?.phase).toBe("policy_failed");
    expect(await fails("state", "list")).toContain("No state file was found");

    const path = `${PROJECT}/stacks/demo/runs/${run?.id}`;
    const body = { plan_digest: run?.plan_digest, reason: "agreed" };
    const token = await tokenOf("deployer");
    expect((await call("POST", `${path}/policy-override`, { token, body })).status).toBe(403);
    expect((await call("POST", `${path}/policy-override`, { body })).status).toBeLessThan(300);
    expect((await runsOf("demo"))[0]?.phase).toBe("awaiting_approval");
  });

  it("has the workspaces of a prefix by the backend remote, which takes no variables", {
    timeout: 120_000,
  }, async () => {
    const { rootAs, first, block, workspace, runsOf } = await start();
    await workspace("app-dev", "remote");
    await workspace("app-prod", "remote");
    const { write, ok, fails } = await rootAs(first.token, { TF_WORKSPACE: "dev" });
    await write(block('backend "remote"', 'prefix = "app-"') + WHO);
    await ok("init");
    expect(await ok("workspace", "list")).toMatch(/^\* dev\n {2}prod$/m);
    expect(await fails("plan", "-var", "who=bob")).toContain(
      "variables are currently not supported",
    );
    expect(await ok("apply", "-auto-approve")).toContain("Apply complete");
    expect(await ok("output", "-raw", "plain")).toBe("is-ann");
    expect((await runsOf("app-dev")).map(({ phase }) => phase)).toEqual(["applied"]);
    expect(await runsOf("app-prod")).toEqual([]);
  });

  it("reads the state of a stack that the command of the project made", {
    timeout: 120_000,
  }, async () => {
    const { root, block, server, first } = await start();
    const own = await terraformRoot(process.execPath, {
      STACKWRIGHT_SERVER: server.url,
      STACKWRIGHT_TOKEN: first.token,
    });
    const text = `resource "terraform_data" "a" { input = "own" }\n${WHO}`;
    await mkdir(join(own.directory, "shop"));
    await own.write(text, "shop/main.tf");
    await own.ok(OWN, "runs", "start", "shop", "--stack", "default/shop", "--yes");
    await root.write(block("cloud", 'name = "shop"') + text);
    await root.ok("init", "-input=false");
    const pulled = await root.ok("state", "pull");
    expect(JSON.parse(pulled)).toMatchObject({
      version: 4,
      outputs: { plain: { value: "is-ann" } },
      resources: [{ type: "terraform_data", name: "a" }],
    });
    await root.write(pulled, "pulled.tfstate");
    for (const words of [["show"], ["show", "pulled.tfstate"]]) {
      expect(await root.ok(...words)).toMatch(/input += "own"/);
    }
    expect(await root.ok("plan")).toContain("No changes");
  });
});
