import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { policyBundle } from "./policies/read-policies.ts";
import type { TestConsole } from "./start-console.ts";
import { LATER_URN, URN } from "./start-notes-function.ts";
import { tarOf } from "./tar-of.ts";

// Something of everything that pages show, with names that are as long as they may be.

const LONG = "a-name-that-goes-on-and-on-until-it-is-much-wider-than-a-telephone-is";
/** As long as names of most things may be. */
const LONG_NAME = LONG.slice(0, 60).replace(/-$/, "s");

const configuration = (size: string): string => `
locals { zones = ["a", "b", "c"] }
resource "terraform_data" "network" { input = { cidr = "10.0.0.0/16", size = "${size}" } }
resource "terraform_data" "subnet" {
  for_each = toset(local.zones)
  input    = { zone = each.key, network = terraform_data.network.id }
}
resource "terraform_data" "database" {
  input            = { engine = "postgres", size = "${size}" }
  triggers_replace = "${size}"
}
resource "terraform_data" "web" {
  count = ${size === "small" ? 3 : 5}
  input = { image = "web:${size}", subnet = terraform_data.subnet["a"].id }
}
resource "terraform_data" "old" { count = ${size === "small" ? 1 : 0} }
resource "terraform_data" "policy" {
  input = jsonencode({
    Version   = "2012-10-17"
    Statement = [
      { Sid = "Read", Effect = "Allow", Action = ["s3:GetObject"], Resource = "arn:aws:s3:::${size}/*" },
      { Sid = "List", Effect = "Allow", Action = ["s3:ListBucket"], Resource = "arn:aws:s3:::logs" },
    ]
  })
}
output "network" { value = terraform_data.network.id }
output "text" { value = "\\u202e<b>right to left</b> \\u05e9\\u05dc\\u05d5\\u05dd ${"wide ".repeat(60)}" }
`;
const READER = `
data "terraform_remote_state" "one" {
  backend = "stackwright"
  config  = { stack = "one" }
}
resource "terraform_data" "copy" { input = data.terraform_remote_state.one.outputs.network }
output "copy" { value = terraform_data.copy.output }
`;

/** Fills a server that has the functions of `startNotesFunction`. Resolves with the addresses of all pages, by names for them. */
export async function fillConsole({
  server,
  call,
  request,
  waitFor,
  token,
}: TestConsole): Promise<Readonly<Record<string, string>>> {
  const upload = async (stack: string, text: string, end: string): Promise<void> => {
    const base = `/projects/default/stacks/${stack}`;
    await call("POST", "/projects/default/stacks", { name: stack });
    const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const { digest = "" } = await call("POST", `${base}/configurations`, archive);
    const { id = "" } = await call("POST", `${base}/runs`, {
      configuration: digest,
      auto_apply: true,
    });
    await expect
      .poll(async () => (await call("GET", `${base}/runs/${id}`))["phase"], { timeout: 90_000 })
      .toBe(end);
  };
  const applied = await request(configuration("small"), { auto_apply: true, message: "begin" });
  await waitFor(applied, "applied");
  await upload("reader", READER, "applied");
  await upload(LONG, READER, "applied");
  await upload("broken", 'resource "terraform_data" "a" { input = file("missing") }\n', "failed");
  const waiting = await request(configuration("large"), { message: "grow" });
  await waitFor(waiting, "awaiting_approval");
  const put = async (path: string, method: string, body: object | Buffer): Promise<void> => {
    const isBytes = Buffer.isBuffer(body);
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "client-request-id": crypto.randomUUID(),
        "content-type": isBytes ? "application/gzip" : "application/json",
      },
      body: isBytes ? Uint8Array.from(body) : JSON.stringify(body),
    });
    expect(answer.status, path).toBeLessThan(300);
  };
  await put("/v1/private-providers", "POST", {
    provider_name: "notes",
    provider_description: "notes that are kept in a folder",
    provider_version: "1.0.0",
    function_graph_urn: URN,
  });
  await put("/v1/private-providers/notes/versions", "POST", {
    provider_version: "1.1.0",
    function_graph_urn: LATER_URN,
  });
  await put("/v1/private-providers", "POST", {
    provider_name: LONG_NAME,
    provider_description: `A provider that ${"explains itself at length, ".repeat(8)}`,
    provider_version: "10.20.30",
    function_graph_urn: URN,
  });
  await call("POST", "/policy-sets", { name: "security", description: "an unwanted set" });
  await call("POST", "/policy-sets", { name: LONG_NAME, description: "words ".repeat(20) });
  const policies = Uint8Array.from(policyBundle());
  await call("PUT", "/policy-sets/security/content?entrypoint=stackwright", policies);
  for (const [name, url] of [
    ["ops", "https://ops.example.com/stackwright"],
    [LONG_NAME, `https://${"long-".repeat(9)}name.example.com/${"path/".repeat(20)}`],
  ]) {
    const destination = { name, kind: "webhook", url, events: ["run.failed", "drift.found"] };
    await call("POST", "/projects/default/notifications", destination);
  }
  await call("POST", "/projects/default/stacks/one/drift/ignores", {
    address: 'terraform_data.subnet["a"]',
    attribute: "output",
    reason: `A trial of the network team. ${"It lasts for a while. ".repeat(8)}`,
    expires_in_seconds: 86_400,
  });
  const module = 'variable "cidr" {\n  type        = string\n  description = "addresses"\n}\n';
  const archive = gzipSync(tarOf({ "main.tf": module, "README.md": "# Network\n" }));
  await put("/api/v1/registry/modules/acme/network/lab/1.0.0", "PUT", archive);
  await put("/api/v1/projects/default/freeze", "PUT", { reason: "an incident" });

  const stack = "p/default/s/one";
  return {
    overview: "",
    projects: "projects",
    project: "p/default",
    "plan-sets": "p/default/plan-sets",
    notifications: "p/default/notifications",
    stack,
    resources: `${stack}/resources?address=terraform_data.policy`,
    "stack-graph": `${stack}/graph`,
    outputs: `${stack}/outputs`,
    variables: `${stack}/variables`,
    runs: `${stack}/runs`,
    history: `${stack}/history?from=1&to=2`,
    "stack-drift": `${stack}/drift`,
    "stack-settings": `${stack}/settings`,
    plan: `${stack}/r/${waiting}`,
    apply: `${stack}/r/${applied}`,
    log: `${stack}/r/${applied}?tab=log`,
    details: `${stack}/r/${applied}?tab=details`,
    long: `p/default/s/${LONG}`,
    frozen: "frozen",
    drift: "drift",
    graph: "graph",
    registry: "registry",
    provider: "registry/notes",
    module: "registry/modules/acme/network/lab",
    audit: "audit",
    identity: "identity",
    policies: "policies",
    policy: "policies/security",
    tools: "tools",
    access: "access",
    settings: "settings",
    "variable-sets": "settings/variable-sets",
    accounts: "settings/accounts",
    account: "settings/accounts/default",
    "live-view": "debug/krt",
    missing: "p/nothing",
  };
}
